//! A run as pods do it: the dataset-manager's life, and workers that find it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use reprise_contract::Summary;
use reprise_contract::termination::{Reason, TerminationMessage};
use reprise_dataset_manager::life::live;
use reprise_dataset_manager::run_file::Run;
use reprise_dataset_manager::settings::Settings;
use reprise_identity::{Certificate, RunKey, RunSecrets};
use reprise_mock_endpoint::{Config, start_on_own_thread};
use reprise_test_servers::free_port;
use serde_json::{Value, json};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../dataset/tests/data/mooncake_conversation_head.jsonl"
);
const PATIENCE: Duration = Duration::from_mins(1);

/// What pods of one run share.
struct Namespace {
    folder: tempfile::TempDir,
    secrets: RunSecrets,
    port: u16,
    local_port: u16,
}

impl Namespace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["secrets", "scratch", "results"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let names = ["127.0.0.1".to_owned()];
        let certificate = Certificate::for_run(&names, Duration::from_mins(10)).unwrap();
        let secrets = RunSecrets::new(certificate, &RunKey::generate().unwrap(), "5f0c7d12-77aa", 1);
        secrets.write(&folder.path().join("secrets")).unwrap();
        Self {
            folder,
            secrets,
            port: free_port(),
            local_port: free_port(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Lives as the dataset-manager on a thread of its own.
    fn manager(&self, spec: &Value) -> thread::JoinHandle<TerminationMessage> {
        let run = json!({
            "schemaVersion": "reprise.dev/run/v1",
            "name": "chat-august",
            "uid": "5f0c7d12-77aa",
            "attempt": 1,
            "spec": spec,
        });
        let run = Run::parse(&run.to_string(), Path::new("run.json")).unwrap();
        let variables = [
            ("REPRISE_RUN_SECRETS", self.path("secrets")),
            ("REPRISE_LISTEN", format!("127.0.0.1:{}", self.port)),
            ("REPRISE_LOCAL_LISTEN", format!("127.0.0.1:{}", self.local_port)),
            ("REPRISE_SCRATCH", self.path("scratch")),
            ("REPRISE_RESULTS_DIR", self.path("results")),
        ];
        let settings = Settings::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        });
        let (settings, secrets) = (settings.unwrap(), self.secrets.of_manager());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.unwrap().block_on(live(&settings, &run, &secrets))
        })
    }

    fn worker(&self, index: u32) -> Child {
        Command::new(env!("CARGO_BIN_EXE_reprise"))
            .arg("worker-process")
            .env("REPRISE_MANAGER_URL", format!("https://127.0.0.1:{}", self.port))
            .env("REPRISE_RUN_SECRETS", self.path("secrets"))
            .env("REPRISE_WORKER_INDEX", index.to_string())
            .env("REPRISE_THREADS", "1")
            .env(
                "REPRISE_TERMINATION_MESSAGE",
                self.path(&format!("worker-{index}.json")),
            )
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What people are told.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.local_port)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    fn wait_for_stage(&self, stage: &str) {
        let begun = Instant::now();
        while self
            .get("/v1/status")
            .is_none_or(|status| status["stage"] != stage)
        {
            assert!(begun.elapsed() < PATIENCE, "{stage} never comes");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn spec(url: &str) -> Value {
    json!({
        "dataset": {"source": TRACE, "format": "mooncake_trace"},
        "target": {"urls": [url], "model": "mock"},
        "replay": {"speed": 10},
        "workers": {"replicas": 2},
        "results": {"hold": "5s"},
    })
}

#[test]
fn a_run_by_pods_ends_with_a_stored_result_and_a_message() {
    let (namespace, endpoint) = (Namespace::new(), start_on_own_thread(Config::default()).unwrap());
    let manager = namespace.manager(&spec(&endpoint.url()));
    let mut workers = [0, 1].map(|index| namespace.worker(index));
    namespace.wait_for_stage("Holding");
    let listed = namespace.get("/v1/results").unwrap();
    let names: Vec<_> = listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "effective-spec.yaml",
            "outcomes.parquet",
            "report.html",
            "summary.json"
        ]
    );
    let message = manager.join().unwrap();
    assert_eq!(message.reason, Reason::Succeeded, "{}", message.message);
    let numbers = message.numbers.unwrap();
    assert_eq!((numbers.planned, numbers.completed), (40, 40));
    for worker in &mut workers {
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    }
    let stored = namespace.folder.path().join("results/chat-august/5f0c7d12-1");
    let summary: Summary = serde_json::from_slice(&fs::read(stored.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary.counts.completed, 40);
    assert_eq!(endpoint.arrivals().len(), 40);
    assert_eq!(fs::read_dir(namespace.path("scratch")).unwrap().count(), 0);
}
