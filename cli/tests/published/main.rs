//! Published traces, from end to end: the command line against real and faithful servers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod downloads;
mod formats;
mod pins;
mod places;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
mod troubleshooting;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use reprise_contract::Summary;
use reprise_test_servers::hub::Hub;
use reprise_test_servers::s3::{ACCESS_KEY, S3Server, SECRET_KEY};
use serde_json::Value;
use support::{endpoint, stderr};
use tempfile::TempDir;

/// Three records with times, as a publisher's first try looks.
const TRACE: &str = "{\"timestamp\": 0, \"input_length\": 1200, \"output_length\": 52, \"hash_ids\": [0, 1, 2]}\n\
                     {\"timestamp\": 105, \"input_length\": 1800, \"output_length\": 26, \"hash_ids\": [0, 3, 4, 5]}\n\
                     {\"timestamp\": 274, \"input_length\": 1300, \"output_length\": 52, \"hash_ids\": [1, 4, 6]}\n";
/// The same with one more.
const LONGER_TRACE: &str = "{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 5}\n\
                            {\"timestamp\": 9, \"input_length\": 8, \"output_length\": 6}\n";

/// A machine with empty caches, on which nobody is logged in anywhere.
struct Machine {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Machine {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            variables: Vec::new(),
        }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the public part of a hub in reach.
    fn with_hub(self, hub: &Hub) -> Self {
        self.with("HF_ENDPOINT", hub.endpoint())
    }

    /// As the owner of all buckets of a store.
    fn with_store(self, store: &S3Server) -> Self {
        self.with("AWS_ENDPOINT_URL_S3", &store.endpoint())
            .with("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .with("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .with("AWS_REGION", "us-east-1")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reprise"));
        command
            .current_dir(self.folder.path())
            .args(arguments)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints that succeeds.
    fn shown(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that is refused.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stderr(&output)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.shown(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The version of the trace that is there now.
    fn version(&self, reference: &str) -> String {
        self.json(&["pin", reference])["pin"]["version"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The bytes that a fetch gives.
    fn fetched(&self, arguments: &[&str]) -> String {
        let path = self.shown(&[&["fetch"], arguments].concat());
        std::fs::read_to_string(path.trim()).unwrap()
    }

    /// Runs a trace against a mock endpoint, and gives the result with the digests of the bodies that arrived.
    fn replay(&self, source: &str, more: &[&str]) -> (Summary, Vec<Option<String>>) {
        let endpoint = endpoint();
        let url = endpoint.url();
        let arguments = [
            "run", "--source", source, "--model", "mock", "--target", &url, "--json",
        ];
        let output = self.run(&[&arguments, more].concat());
        assert_eq!(output.status.code(), Some(0), "{source}: {}", stderr(&output));
        let mut bodies: Vec<_> = endpoint
            .arrivals()
            .into_iter()
            .map(|arrival| arrival.body_sha256)
            .collect();
        bodies.sort();
        (serde_json::from_slice(&output.stdout).unwrap(), bodies)
    }
}

fn put(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
