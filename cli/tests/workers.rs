//! `reprise run --workers`, as a person runs it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use reprise_contract::Summary;
use reprise_contract::summary::Verdict;
use reprise_mock_endpoint::ThreadHandle;
use rustix::process::{Pid, Signal, kill_process};
use support::{endpoint, stderr};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../dataset/tests/data/mooncake_conversation_head.jsonl"
);
/// Long enough to kill somebody in the meantime.
const PATIENCE: Duration = Duration::from_mins(1);

fn reprise(folder: &Path, url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reprise"));
    command
        .current_dir(folder)
        .args([
            "run", "--source", TRACE, "--model", "mock", "--target", url, "-o", "out",
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env(
            "REPRISE_CACHE_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
        )
        .env_remove("REPRISE_LOG");
    command
}

fn run(folder: &Path, url: &str, arguments: &[&str]) -> Output {
    reprise(folder, url, arguments).output().unwrap()
}

fn summary(folder: &Path) -> Summary {
    serde_json::from_slice(&fs::read(folder.join("out/summary.json")).unwrap()).unwrap()
}

fn bodies(endpoint: &ThreadHandle) -> Vec<String> {
    let arrivals = endpoint.arrivals().into_iter();
    let mut bodies: Vec<_> = arrivals
        .map(|arrival| format!("{:?}", arrival.body_sha256))
        .collect();
    bodies.sort();
    bodies
}

/// Waits until the endpoint was asked for something.
fn wait_for_arrivals(endpoint: &ThreadHandle) {
    let begun = Instant::now();
    while endpoint.arrivals().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "nothing arrives");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The worker processes of this process.
fn workers_of(parent: u32) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let mut pids: Vec<i32> = children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect();
    if pids.is_empty() {
        // Children belong to the thread that started them, or the kernel does not tell.
        let status = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let all = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids = all
            .filter(|pid| status(pid).contains(&format!("PPid:\t{parent}\n")))
            .collect();
    }
    pids.into_iter().map(|pid| Pid::from_raw(pid).unwrap()).collect()
}

#[test]
fn workers_send_together_what_one_process_sends() {
    let folder = tempfile::tempdir().unwrap();
    let sent = |workers: &[&str]| {
        let endpoint = endpoint();
        let arguments = [&["--set", "replay.speed=10"], workers].concat();
        let output = run(folder.path(), &endpoint.url(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (bodies(&endpoint), summary(folder.path()))
    };
    let (alone, of_one) = sent(&[]);
    let (together, of_two) = sent(&["--workers", "2"]);
    assert_eq!(alone, together);
    assert_eq!(of_one.counts, of_two.counts);
    assert_eq!(of_one.provenance.schedule, of_two.provenance.schedule);
    assert_eq!(of_one.provenance.dataset, of_two.provenance.dataset);
    let names = fs::read_dir(folder.path().join("out")).unwrap().count();
    assert_eq!(names, 4, "nothing else is left in the folder for results");
}

#[test]
fn workers_without_a_session_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let arguments = ["--set", "replay.requests=2", "--workers", "4"];
    let output = run(folder.path(), &endpoint.url(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(summary(folder.path()).counts.completed, 2);
}

#[test]
fn as_many_workers_as_it_takes_are_started_and_the_reason_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let arguments = ["--set", "replay.speed=10", "--workers", "auto"];
    let output = run(folder.path(), &endpoint.url(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("--workers auto: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(summary(folder.path()).counts.completed, 40);
}

#[test]
fn what_cannot_be_is_told_before_anything_is_sent_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let url = endpoint.url();
    let cases: [&[&str]; 4] = [
        &["--workers", "0"],
        &["--workers", "257"],
        &[
            "--workers",
            "2",
            "--set",
            "replay.schedule=Concurrency",
            "--set",
            "replay.concurrency=3",
        ],
        &["--workers", "2", "--set", "replay.spede=2"],
    ];
    let told = cases.map(|case| {
        let output = run(folder.path(), &url, case);
        assert_eq!(output.status.code(), Some(2), "{case:?}: {}", stderr(&output));
        format!("$ reprise run {}\n{}", case.join(" "), stderr(&output))
    });
    insta::assert_snapshot!(told.join("\n"));
    assert!(endpoint.arrivals().is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_stops_all_workers_and_reports_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let process = reprise(folder.path(), &endpoint.url(), &["--workers", "2"])
        .spawn()
        .unwrap();
    wait_for_arrivals(&endpoint);
    kill_process(Pid::from_child(&process), Signal::INT).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let summary = summary(folder.path());
    assert_eq!(summary.verdict, Verdict::Cancelled);
    let counts = summary.counts;
    assert_eq!(
        counts.completed + counts.failed + counts.cancelled + counts.dropped + counts.not_sent,
        40,
        "{counts:?}"
    );
    assert!(counts.not_sent > 0, "{counts:?}");
}

#[test]
fn a_worker_that_dies_while_it_sends_fails_the_run_and_every_request_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let process = reprise(folder.path(), &endpoint.url(), &["--workers", "2"])
        .spawn()
        .unwrap();
    wait_for_arrivals(&endpoint);
    let victim = workers_of(process.id())[0];
    kill_process(victim, Signal::KILL).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let summary = summary(folder.path());
    assert_eq!(summary.verdict, Verdict::Failed);
    let counts = summary.counts;
    assert_eq!(counts.measured + counts.unknown, 40, "{counts:?}");
    assert_eq!(
        counts.completed + counts.failed + counts.cancelled + counts.dropped + counts.not_sent,
        counts.measured,
        "{counts:?}"
    );
}

#[test]
fn workers_end_with_their_parent() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let mut process = reprise(folder.path(), &endpoint.url(), &["--workers", "2"])
        .spawn()
        .unwrap();
    wait_for_arrivals(&endpoint);
    let workers = workers_of(process.id());
    assert_eq!(workers.len(), 2);
    process.kill().unwrap();
    process.wait().unwrap();
    let begun = Instant::now();
    while workers
        .iter()
        .any(|pid| Path::new(&format!("/proc/{}/exe", pid.as_raw_nonzero())).exists())
    {
        assert!(begun.elapsed() < PATIENCE, "a worker outlives its parent");
        std::thread::sleep(Duration::from_millis(10));
    }
}
