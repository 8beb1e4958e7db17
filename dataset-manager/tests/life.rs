//! The process as a pod runs it, up to where workers come in: every failure leaves a message and an exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reprise_contract::termination::{Process, Reason, TerminationMessage};
use reprise_identity::{Certificate, RunKey, RunSecrets};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../dataset/tests/data/mooncake_conversation_head.jsonl"
);

/// A pod's folders, and the process in it.
struct Pod {
    folder: TempDir,
    command: Command,
}

impl Pod {
    /// A pod for a run with this spec.
    fn new(spec: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["secrets", "scratch", "home"] {
            fs::create_dir(path(name)).unwrap();
        }
        let certificate = Certificate::for_run(&["127.0.0.1".to_owned()], Duration::from_mins(10)).unwrap();
        let secrets = RunSecrets::new(certificate, &RunKey::generate().unwrap(), "5f0c7d12", 1);
        secrets.write(&path("secrets")).unwrap();
        let run = json!({
            "schemaVersion": "reprise.dev/run/v1",
            "name": "chat-august",
            "uid": "5f0c7d12-77aa",
            "attempt": 1,
            "spec": spec,
        });
        fs::write(path("run.json"), run.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_reprise-dataset-manager"));
        command
            .env_clear()
            .env("HOME", path("home"))
            .env("REPRISE_RUN_FILE", path("run.json"))
            .env("REPRISE_RUN_SECRETS", path("secrets"))
            .env("REPRISE_LISTEN", "127.0.0.1:0")
            .env("REPRISE_LOCAL_LISTEN", "127.0.0.1:0")
            .env("REPRISE_SCRATCH", path("scratch"))
            .env("REPRISE_TERMINATION_MESSAGE", path("message.json"))
            .env("REPRISE_CONTROL_FILE", path("control.json"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        Self { folder, command }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the process to its end.
    fn run(mut self) -> (i32, TerminationMessage) {
        let child = self.command.spawn().unwrap();
        self.end(child)
    }

    /// Starts the process, and waits until it logs a line with `text` in it.
    fn start_until(&mut self, text: &str) -> Child {
        let mut child = self.command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "no line with {text:?}");
        }
        // The rest of the log has to go somewhere.
        std::thread::spawn(move || log.lines().count());
        child
    }

    fn end(&self, child: Child) -> (i32, TerminationMessage) {
        let output = child.wait_with_output().unwrap();
        let message = fs::read(self.path("message.json")).unwrap();
        assert!(message.len() <= 4096);
        let left = fs::read_dir(self.path("scratch")).unwrap().count();
        assert_eq!(left, 0, "the scratch folder is empty again");
        (
            output.status.code().unwrap(),
            serde_json::from_slice(&message).unwrap(),
        )
    }
}

fn spec(source: &str) -> Value {
    json!({
        "dataset": {"source": source, "format": "mooncake_trace"},
        "target": {"urls": ["http://127.0.0.1:9"], "model": "mock"},
        "workers": {"replicas": 3},
    })
}

#[test]
fn settings_that_are_wrong_are_told_all_at_once() {
    let pod = Pod::new(&spec(TRACE))
        .set("REPRISE_GRACE", "soon")
        .set("REPRISE_LISTEN", "nowhere");
    let (code, message) = pod.run();
    assert_eq!((code, message.reason), (2, Reason::WrongSettings));
    assert_eq!(message.kind, Process::DatasetManager);
    assert!(message.message.contains("REPRISE_GRACE") && message.message.contains("REPRISE_LISTEN"));
}

#[test]
fn a_spec_that_is_wrong_is_told_by_its_fields() {
    let mut wrong = spec(TRACE);
    wrong["replay"] = json!({"spede": 2});
    let (code, message) = Pod::new(&wrong).run();
    assert_eq!((code, message.reason), (2, Reason::WrongSettings));
    assert!(
        message.message.contains("spec.replay.spede"),
        "{}",
        message.message
    );
}

#[test]
fn a_trace_that_is_not_there_is_named_with_its_cause_and_without_its_credential() {
    let (code, message) = Pod::new(&spec("/nowhere/trace.jsonl")).run();
    assert_eq!((code, message.reason), (2, Reason::DatasetUnavailable));
    assert_eq!(
        message.message,
        "Cannot use /nowhere/trace.jsonl: there is no such file. Check the path."
    );
    assert_eq!(message.reference.as_deref(), Some("/nowhere/trace.jsonl"));

    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let source = format!("http://127.0.0.1:{port}/t.jsonl");
    let secret = format!("{source}?X-Amz-Signature=abcdef0123&X-Amz-Credential=who");
    let pod = Pod::new(&spec(&source)).set("REPRISE_INJECTED_DATASET_URLS", &json!([secret]).to_string());
    let (code, message) = pod.run();
    assert_eq!((code, message.reason), (2, Reason::DatasetUnavailable));
    let shown = message.to_json().unwrap();
    assert!(message.message.contains("the connection was refused"), "{shown}");
    assert!(!shown.contains("abcdef0123"), "{shown}");
}

#[test]
fn a_spec_that_does_not_go_with_the_trace_fails_before_workers_are_asked() {
    let mut closed = spec(TRACE);
    closed["replay"] = json!({"schedule": "Concurrency", "concurrency": 4});
    let (code, message) = Pod::new(&closed).run();
    assert_eq!((code, message.reason), (2, Reason::PlanImpossible));
    assert!(
        message.message.contains("Cannot use 3 workers"),
        "{}",
        message.message
    );
}

#[test]
fn workers_that_never_join_are_named() {
    let pod = Pod::new(&spec(TRACE)).set("REPRISE_REGISTRATION_TIMEOUT", "1");
    let (code, message) = pod.run();
    assert_eq!((code, message.reason), (3, Reason::WorkersMissing));
    assert!(message.message.contains("0 to 2"), "{}", message.message);
}

#[test]
fn a_preparation_that_takes_too_long_ends_with_its_cause() {
    // Connections are taken by the system, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/t.jsonl", silent.local_addr().unwrap());
    let pod = Pod::new(&spec(&source)).set("REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS", "2");
    let (code, message) = pod.run();
    assert_eq!((code, message.reason), (5, Reason::StartupBudgetExceeded));
    assert!(
        message
            .message
            .starts_with(&format!("Cannot use {source}: it was not ready within 2s")),
        "{}",
        message.message
    );
}

#[test]
fn a_deadline_counts_from_the_start() {
    let mut short = spec(TRACE);
    short["timeoutSeconds"] = json!(1);
    let (code, message) = Pod::new(&short).run();
    assert_eq!((code, message.reason), (1, Reason::DeadlinePassed));
}

#[test]
fn a_cancel_by_file_ends_the_run_before_anything_is_sent() {
    let mut pod = Pod::new(&spec(TRACE));
    let child = pod.start_until("the plan is ready");
    fs::write(pod.path("control.json"), r#"{"cancel": true}"#).unwrap();
    let (code, message) = pod.end(child);
    assert_eq!((code, message.reason), (1, Reason::Cancelled));
}

#[test]
fn a_signal_ends_the_process_with_a_message() {
    let mut pod = Pod::new(&spec(TRACE));
    let child = pod.start_until("the plan is ready");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (code, message) = pod.end(child);
    assert_eq!((code, message.reason), (4, Reason::Terminated));
}

#[test]
fn a_folder_for_results_that_cannot_be_written_is_found_early() {
    let file = Path::new(TRACE).canonicalize().unwrap();
    let pod = Pod::new(&spec(TRACE)).set("REPRISE_RESULTS_DIR", file.to_str().unwrap());
    let (code, message) = pod.run();
    assert_eq!((code, message.reason), (6, Reason::ResultsNotStored));
    assert!(
        message.message.starts_with("Cannot store results in"),
        "{}",
        message.message
    );
}
