//! `docs/troubleshooting.md` says what the program says.
//!
//! A row is provoked either here, from the command line, or by a test of the part that it comes from: what those expect
//! stands in their golden files and assertions.

use reprise_test_servers::http::PythonServer;

use super::*;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The first column of every table.
fn rows() -> Vec<String> {
    let page = std::fs::read_to_string(format!("{REPOSITORY}/docs/troubleshooting.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned())
        .collect()
}

/// Whether a message has all parts of a row, in their order.
fn matches(message: &str, row: &str) -> bool {
    let mut rest = message;
    row.split('…').all(|part| match rest.find(part.trim()) {
        Some(at) => {
            rest = &rest[at + part.trim().len()..];
            true
        }
        None => false,
    })
}

/// Everything that tests of the parts expect, on single lines.
fn expected_by_tests(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = path.to_string_lossy().into_owned();
        let is_of_tests = text.contains("/tests/")
            || text.ends_with("reader.rs")
            || text.ends_with("tests.rs")
            || text.contains("/snapshots/")
            || text.contains("conformance");
        if path.is_dir() {
            expected_by_tests(&path, found);
        } else if is_of_tests && !text.ends_with("troubleshooting.rs") {
            let content = std::fs::read_to_string(&path).unwrap_or_default();
            // A text that goes on after a line end in the source.
            let joined = content.replace("\\\n", " ");
            found.extend(
                joined
                    .lines()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
            );
        }
    }
}

/// What the command line says of wrong references and traces.
fn provoked() -> Vec<String> {
    let (hub, server) = (Hub::start(), PythonServer::start());
    let machine = Machine::new().with_hub(&hub);
    let traces = hub.dataset("acme/traces");
    traces.commit([
        ("readme/x.txt", "x"),
        (
            "lost/reprise.json",
            r#"{"path": "x.jsonl", "format": "mooncake_trace"}"#,
        ),
        ("splits/test-00000-of-00001.parquet", "PAR1"),
        ("splits/dev-00000-of-00001.parquet", "PAR1"),
        ("several/a/x.parquet", "PAR1"),
        ("several/b/x.parquet", "PAR1"),
        ("days/day=1/x.parquet", "PAR1"),
    ]);
    hub.model("acme/model").commit([("tokenizer.json", "{}")]);
    put(&server.folder(), "trace.jsonl", TRACE);
    put(&server.folder(), "cut.jsonl.gz", "\u{1f}");
    let url = server.url("trace.jsonl");
    let mut told = Vec::new();
    let mut refuse = |arguments: &[&str]| told.push(machine.refusal(arguments));
    for reference in [
        "gs://bucket/key",
        "hf://acme",
        "s3://",
        "nowhere.jsonl",
        "hf://acme/nothing/x.jsonl",
        "hf://acme/traces@nothing/x.jsonl",
        "hf://acme/traces/nothing.jsonl",
        "hf://acme/model/tokenizer.json",
        "hf://acme/traces/readme",
        "hf://acme/traces/lost",
        "hf://acme/traces/splits",
        "hf://acme/traces/several",
        "hf://acme/traces/days",
        &server.url("nothing.jsonl"),
        &server.url("folder/"),
        "http://127.0.0.1:1/trace.jsonl",
        "http://host.invalid/trace.jsonl",
        "https://bucket.example/x?X-Amz-Signature=<redacted>",
    ] {
        refuse(&["pin", reference]);
    }
    refuse(&["pin", &url.replace("http://", "https://")]);
    refuse(&["inspect", &url]);
    refuse(&[
        "inspect",
        "hf://acme/traces/splits/dev-00000-of-00001.parquet",
        "--format",
        "workload_trace",
    ]);
    put(machine.folder.path(), "trace.jsonl", TRACE);
    refuse(&[
        "run",
        "--source",
        "trace.jsonl",
        "--target",
        "http://127.0.0.1:9",
        "--model",
        "mock",
        "--set",
        "dataset.tokenizer=hf://datasets/acme/traces",
    ]);
    refuse(&["pin", "trace.jsonl", "--set", "dataset.version=versionId:7"]);
    refuse(&["pin", "hf://acme/traces", "--set", "dataset.version=versionId:7"]);
    told
}

#[test]
fn every_row_is_provoked_by_a_test() {
    let mut told = provoked();
    for folder in [
        "source/src",
        "source/tests",
        "dataset/src",
        "dataset/tests",
        "cli/tests",
    ] {
        expected_by_tests(Path::new(&format!("{REPOSITORY}/{folder}")), &mut told);
    }
    let rows = rows();
    assert!(rows.len() > 50);
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| !told.iter().any(|message| matches(message, row)))
        .collect();
    assert!(missing.is_empty(), "no test provokes {missing:#?}");
}

#[test]
fn whatever_is_refused_here_has_a_row() {
    let rows = rows();
    for message in provoked() {
        assert!(message.starts_with("Cannot use "), "{message}");
        assert!(
            rows.iter().any(|row| matches(&message, row)),
            "no row for {message}"
        );
    }
}
