//! `python3 -m http.server`

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::Logged;
use crate::Process;

/// `python3 -m http.server`, on a port that it picks. It has dates and lengths, and neither entity tags nor ranges.
#[derive(Debug)]
pub struct PythonServer {
    folder: TempDir,
    base: String,
    _process: Process,
}

impl PythonServer {
    /// A server of an empty folder.
    #[must_use]
    pub fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut process = Process::spawn(
            Command::new("python3")
                .args([
                    "-u",
                    "-m",
                    "http.server",
                    "0",
                    "--bind",
                    "127.0.0.1",
                    "--directory",
                ])
                .arg(files)
                .stdout(Stdio::piped())
                .stderr(log),
        );
        let mut greeting = String::new();
        BufReader::new(process.child().stdout.take().unwrap())
            .read_line(&mut greeting)
            .unwrap();
        // Serving HTTP on 127.0.0.1 port 43211 (http://127.0.0.1:43211/) ...
        let base = greeting.split(['(', ')']).nth(1).unwrap().to_owned();
        Self {
            folder,
            base,
            _process: process,
        }
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// The URL of a file, whether it is there or not.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("{}{name}", self.base)
    }

    /// What was asked so far. A line is written before its answer's body.
    #[must_use]
    pub fn log(&self) -> Vec<Logged> {
        read_log(&self.folder.path().join("log"))
    }
}

/// `127.0.0.1 - - [30/Nov/2026 12:00:00] "GET /trace HTTP/1.1" 200 -`, and other lines about errors.
fn read_log(path: &Path) -> Vec<Logged> {
    let log = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut parts = line.split('"');
        let mut request = parts.nth(1)?.split(' ');
        Some(Logged {
            method: request.next()?.to_owned(),
            target: request.next()?.to_owned(),
            status: parts.next()?.split_whitespace().next()?.parse().ok()?,
            bytes: None,
            range: None,
        })
    };
    log.lines().filter_map(line).collect()
}
