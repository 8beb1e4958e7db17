//! What is refused before anything is downloaded.

use reprise_test_servers::http::PythonServer;

use super::*;

#[test]
fn the_format_of_a_remote_trace_is_never_guessed() {
    let server = PythonServer::start();
    put(&server.folder(), "trace.jsonl", TRACE);
    let machine = Machine::new();
    let refusal = machine.refusal(&["inspect", &server.url("trace.jsonl")]);
    assert!(refusal.contains("never guessed"), "{refusal}");
}

#[test]
fn a_command_and_a_manifest_that_disagree_are_refused_before_the_download() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let manifest = r#"{"path": "trace.jsonl", "format": "mooncake_trace"}"#;
    hub.dataset("acme/traces")
        .commit([("trace.jsonl", TRACE), ("reprise.json", manifest)]);
    let refusal = machine.refusal(&["fetch", "hf://acme/traces", "--format", "workload_trace"]);
    assert!(
        refusal.contains("mooncake_trace") && refusal.contains("workload_trace"),
        "{refusal}"
    );
    assert!(
        !hub.log()
            .iter()
            .any(|request| request.target.contains("trace.jsonl"))
    );
}

#[test]
fn a_rate_beside_recorded_times_is_refused_before_the_download() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    // Longer than what is read to see the first record.
    let long = TRACE.repeat(2000);
    hub.dataset("acme/traces")
        .commit([("trace.jsonl", long.as_str())]);
    let refusal = machine.refusal(&[
        "run",
        "--source",
        "hf://acme/traces/trace.jsonl",
        "--format",
        "mooncake_trace",
        "--model",
        "mock",
        "--target",
        "http://127.0.0.1:9",
        "--set",
        "replay.rate={perSecond: 5}",
    ]);
    assert!(
        refusal.contains("recorded times") && refusal.contains("replay.rate"),
        "{refusal}"
    );
    assert!(hub.sent() <= 64 * 1024, "{}", hub.sent());
}

#[test]
fn a_first_record_of_another_format_is_refused_before_the_download() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let long = "{\"question\": \"why?\"}\n".repeat(50_000);
    hub.dataset("acme/traces")
        .commit([("trace.jsonl", long.as_str())]);
    let refusal = machine.refusal(&[
        "inspect",
        "hf://acme/traces/trace.jsonl",
        "--format",
        "mooncake_trace",
    ]);
    assert!(refusal.contains("line 1"), "{refusal}");
    assert!(hub.sent() <= 64 * 1024, "{}", hub.sent());
}

#[test]
fn parquet_that_the_format_does_not_read_is_refused_before_the_download() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    hub.dataset("acme/traces")
        .commit([("data/train-00000-of-00001.parquet", "PAR1")]);
    let refusal = machine.refusal(&["inspect", "hf://acme/traces", "--format", "workload_trace"]);
    assert!(refusal.contains("does not read parquet files"), "{refusal}");
    assert_eq!(hub.sent(), 0);
}

#[test]
fn datasets_as_push_to_hub_writes_them_run_without_a_manifest() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let script = r"
import datasets, json, sys
rows = [json.loads(line) for line in open('trace.jsonl')]
d = datasets.Dataset.from_list(rows)
for split in ('train', 'test'):
    for n in range(2):
        d.shard(2, n).to_parquet(f'{split}-0000{n}-of-00002.parquet')
";
    put(machine.folder.path(), "trace.jsonl", TRACE);
    let python = Command::new("python3")
        .current_dir(machine.folder.path())
        .env("HF_HOME", machine.path("python"))
        .args(["-c", script])
        .output()
        .unwrap();
    assert!(python.status.success(), "{}", stderr(&python));
    let files: Vec<_> = ["train", "test"]
        .iter()
        .flat_map(|split| (0..2).map(move |n| format!("{split}-0000{n}-of-00002.parquet")))
        .map(|name| {
            (
                format!("chat/{name}"),
                std::fs::read(machine.path(&name)).unwrap(),
            )
        })
        .chain([("README.md".to_owned(), b"# chat".to_vec())])
        .collect();
    let repository = hub.dataset("acme/chat");
    repository.commit(files.clone());
    repository.commit_on("refs/convert/parquet", files);
    let (lines, _) = machine.replay("trace.jsonl", &[]);
    // Text is made of the digest of a trace, and rows have another one than lines.
    let (_, bodies) = machine.replay("hf://acme/chat", &["--format", "mooncake_trace"]);
    for source in [
        "hf://acme/chat",
        "hf://datasets/acme/chat@refs%2Fconvert%2Fparquet/chat",
    ] {
        hub.clear_log();
        let (summary, arrived) = machine.replay(source, &["--format", "mooncake_trace"]);
        assert_eq!(arrived, bodies, "{source}");
        assert_eq!(summary.counts.planned, lines.counts.planned);
        assert_eq!(summary.provenance.dataset.files.len(), 2, "{source}");
        assert!(
            summary
                .warnings
                .iter()
                .any(|warning| warning.code == "SplitsLeftOut"),
            "{source}"
        );
        assert!(
            !hub.log()
                .iter()
                .any(|request| request.is_file() && request.target.contains("test-0000"))
        );
    }
}
