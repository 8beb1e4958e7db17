//! `reprise run` and `reprise demo`, as a person runs them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use reprise_contract::Summary;
use reprise_contract::summary::Verdict;
use rustix::process::{Pid, Signal, kill_process};
use support::{endpoint, stderr};

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../dataset/tests/data/mooncake_conversation_head.jsonl"
);

fn reprise(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reprise"));
    command
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .env(
            "REPRISE_CACHE_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
        )
        .env_remove("REPRISE_LOG");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    reprise(folder, arguments).output().unwrap()
}

/// Runs the trace against `url` into the folder `out`.
fn run_trace(folder: &Path, url: &str, out: &str, settings: &[&str]) -> Output {
    let mut arguments = vec![
        "run", "--source", TRACE, "--model", "mock", "--target", url, "-o", out,
    ];
    arguments.extend(["--set", "replay.speed=10"]);
    arguments.extend(settings.iter().flat_map(|setting| ["--set", *setting]));
    run(folder, &arguments)
}

fn summary(folder: &Path) -> Summary {
    serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_writes_its_result_and_can_be_run_again_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let output = run_trace(folder.path(), &endpoint.url(), "first", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let first = folder.path().join("first");
    assert_eq!(
        names_in(&first),
        [
            "effective-spec.yaml",
            "outcomes.parquet",
            "report.html",
            "summary.json"
        ]
    );
    let counts = summary(&first).counts;
    assert_eq!((counts.planned, counts.completed), (40, 40));
    assert_eq!(
        endpoint.arrivals().len(),
        40,
        "a trace with times is replayed whole"
    );

    let again = run(
        folder.path(),
        &["run", "first/effective-spec.yaml", "-o", "second"],
    );
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    let (before, after) = (
        summary(&first).provenance,
        summary(&folder.path().join("second")).provenance,
    );
    assert_eq!(before.schedule, after.schedule);
    assert_eq!(before.dataset.content_digest, after.dataset.content_digest);
}

#[test]
fn seed_and_speed_decide_digests_and_bodies() {
    let folder = tempfile::tempdir().unwrap();
    let digests = |out: &str, settings: &[&str]| {
        let endpoint = endpoint();
        let output = run_trace(folder.path(), &endpoint.url(), out, settings);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut bodies: Vec<_> = endpoint
            .arrivals()
            .into_iter()
            .map(|arrival| arrival.body_sha256)
            .collect();
        bodies.sort();
        let provenance = summary(&folder.path().join(out)).provenance;
        (
            provenance.dataset.content_digest,
            provenance.schedule.hash,
            bodies,
        )
    };
    let first = digests("a", &["replay.seed=7"]);
    assert_eq!(first, digests("b", &["replay.seed=7"]), "the same again");
    let faster = digests("c", &["replay.seed=7", "replay.speed=20"]);
    assert_eq!(
        (&first.0, &first.2),
        (&faster.0, &faster.2),
        "another speed sends the same"
    );
    assert_ne!(first.1, faster.1);
    let reseeded = digests("d", &["replay.seed=8"]);
    assert_ne!(first.0, reseeded.0);
    assert_ne!(first.2, reseeded.2);
}

#[test]
fn wrong_input_is_told_in_one_message_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let timed = "{\"timestamp\":0,\"input_length\":5}\n";
    write("good.jsonl", timed);
    write("line3.jsonl", &format!("{timed}{timed}nope\n"));
    write("no_time.jsonl", "{\"body\":{}}\n");
    write("untimed.jsonl", &format!("{timed}{{\"input_length\":5}}\n"));
    write("empty.jsonl", "");
    write(
        "job.yaml",
        "apiVersion: reprise.dev/v1alpha1\nkind: ReplayJob\nmetadata: {name: x}\nspec:\n  dataset: {source: good.jsonl}\n  \
         target: {urls: ['http://127.0.0.1:1'], streeming: true}\n",
    );
    let source =
        |name: &'static str| ["--source", name, "--format", "mooncake_trace", "--model", "m"].to_vec();
    let set = |setting: &'static str| [source("good.jsonl"), vec!["--set", setting]].concat();
    let mut cases = vec![
        source("missing.jsonl"),
        source("."),
        source("line3.jsonl"),
        vec!["--source", "no_time.jsonl", "--format", "workload_trace"],
        source("untimed.jsonl"),
        source("empty.jsonl"),
        set("replay.speed=0"),
        set("replay.speed=nan"),
        vec!["--source", "good.jsonl", "--format", "moncake_trace"],
        source("gs://bucket/trace.jsonl"),
        set("replay.spede=2"),
        set("replay.rate={perSecond: 5}"),
        vec!["--source", "good.jsonl"],
    ];
    for case in &mut cases {
        case.splice(0..0, ["run", "--target", "http://127.0.0.1:1"]);
    }
    cases.push(vec!["run", "job.yaml"]);
    cases.push(vec!["run"]);
    cases.push(vec!["run", "--source", "good.jsonl"]);
    cases.push(vec!["run", "missing.yaml"]);
    let before = names_in(folder.path());
    let told: Vec<_> = cases
        .iter()
        .map(|case| {
            let output = run(folder.path(), case);
            assert_eq!(output.status.code(), Some(2), "{case:?}: {}", stderr(&output));
            format!("$ reprise {}\n{}", case.join(" "), stderr(&output))
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    assert_eq!(names_in(folder.path()), before);
}

#[test]
fn a_target_that_refuses_fails_the_run_with_counts_by_cause() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_trace(folder.path(), "http://127.0.0.1:1", "out", &[]);
    assert_eq!(output.status.code(), Some(1));
    let summary = summary(&folder.path().join("out"));
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(summary.counts.failures["connectionRefused"].count, 40);
    assert_eq!(summary.metrics, None);
}

#[test]
fn an_interrupt_ends_the_run_and_reports_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let url = endpoint.url();
    let arguments = [
        "run", "--source", TRACE, "--model", "m", "--target", &url, "-o", "out",
    ];
    let process = reprise(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while endpoint.arrivals().is_empty() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&process), Signal::INT).unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let out = folder.path().join("out");
    let summary = summary(&out);
    assert_eq!(summary.verdict, Verdict::Cancelled);
    let counts = summary.counts;
    assert_eq!(counts.planned, 40);
    assert_eq!(
        counts.completed + counts.failed + counts.cancelled + counts.dropped + counts.not_sent,
        40
    );
    assert!(counts.not_sent > 0, "{counts:?}");
    assert_eq!(names_in(&out).len(), 4, "nothing half-made is left");
}

#[test]
fn a_summary_goes_to_programs_as_json_and_a_closed_pipe_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let url = endpoint.url();
    let arguments = [
        "run",
        "--source",
        TRACE,
        "--model",
        "m",
        "--target",
        &url,
        "--json",
        "--set",
        "replay.speed=20",
    ];
    let output = run(folder.path(), &arguments);
    let shown: Summary = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown.verdict, Verdict::Succeeded);

    let mut process = reprise(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    let runs = names_in(&folder.path().join("reprise-results"));
    assert_eq!(runs.len(), 2, "each run has a folder of its own: {runs:?}");
}

#[test]
fn a_job_is_read_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint();
    let job = folder.path().join("job.yaml");
    let text = format!(
        "apiVersion: reprise.dev/v1alpha1\nkind: ReplayJob\nmetadata: {{name: piped}}\nspec:\n  dataset: {{source: '{TRACE}'}}\n  \
         target: {{urls: ['{}'], model: m}}\n  replay: {{speed: 20, requests: 10, warmup: {{requests: 5}}}}\n",
        endpoint.url()
    );
    std::fs::write(&job, text).unwrap();
    let input = std::fs::File::open(&job).unwrap();
    let output = reprise(folder.path(), &["run", "-", "-o", "out"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary = summary(&folder.path().join("out"));
    assert_eq!(
        (
            summary.name.as_str(),
            summary.counts.warmup,
            summary.counts.completed
        ),
        ("piped", 5, 10)
    );
}

#[test]
fn the_demo_runs() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["demo", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("152 completed") && text.contains("reprise inspect"),
        "{text}"
    );
    let report: PathBuf = folder.path().join("out/report.html");
    assert!(report.exists());
}
