//! Pins: the version that was meant, or an error.

use reprise_test_servers::http::{Nginx, PythonServer};

use super::*;

const CHANGED: &str = "changed after Reprise pinned its version";

fn pinned(version: &str) -> String {
    format!("dataset.version='{version}'")
}

#[test]
fn a_commit_still_gives_its_bytes_after_the_branch_went_on() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let reference = "hf://acme/traces/chat.jsonl";
    hub.dataset("acme/traces").commit([("chat.jsonl", TRACE)]);
    let version = machine.version(reference);
    hub.dataset("acme/traces").commit([("chat.jsonl", LONGER_TRACE)]);
    assert_eq!(machine.fetched(&[reference, "--set", &pinned(&version)]), TRACE);
    assert_eq!(machine.fetched(&[reference]), LONGER_TRACE);
}

#[test]
fn a_commit_that_was_pushed_away_is_an_error() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let reference = "hf://acme/traces/chat.jsonl";
    hub.dataset("acme/traces").commit([("chat.jsonl", TRACE)]);
    let version = machine.version(reference);
    hub.dataset("acme/traces")
        .force_push("main", [("chat.jsonl", LONGER_TRACE)]);
    let refusal = machine.refusal(&["fetch", reference, "--set", &pinned(&version)]);
    assert!(
        refusal.contains("Cannot use hf://acme/traces/chat.jsonl: "),
        "{refusal}"
    );
}

#[test]
fn a_version_of_an_object_still_gives_its_bytes_after_it_was_replaced() {
    let store = S3Server::start();
    let machine = Machine::new().with_store(&store);
    store.make_versioned_bucket("traces");
    store.put("traces", "chat.jsonl", TRACE);
    let found = machine.json(&["pin", "s3://traces/chat.jsonl"]);
    let canonical = found["pin"]["canonical"].as_str().unwrap().to_owned();
    store.put("traces", "chat.jsonl", LONGER_TRACE);
    let version = found["pin"]["version"].as_str().unwrap();
    assert_eq!(
        machine.fetched(&["s3://traces/chat.jsonl", "--set", &pinned(version)]),
        TRACE
    );
    assert_eq!(machine.fetched(&[&canonical]), TRACE);
    assert_eq!(machine.fetched(&["s3://traces/chat.jsonl"]), LONGER_TRACE);
}

#[test]
fn an_object_or_prefix_that_was_replaced_is_an_error() {
    let store = S3Server::start();
    let machine = Machine::new().with_store(&store);
    store.make_bucket("traces");
    store.put("traces", "chat/trace.jsonl", TRACE);
    store.put(
        "traces",
        "chat/reprise.json",
        r#"{"path": "trace.jsonl", "format": "mooncake_trace"}"#,
    );
    let references = ["s3://traces/chat/trace.jsonl", "s3://traces/chat/"];
    let versions = references.map(|reference| machine.version(reference));
    store.put("traces", "chat/trace.jsonl", LONGER_TRACE);
    for (reference, version) in references.iter().zip(versions) {
        let refusal = machine.refusal(&["fetch", reference, "--set", &pinned(&version)]);
        assert!(refusal.contains(CHANGED), "{refusal}");
        assert_eq!(machine.fetched(&[reference]), LONGER_TRACE);
    }
}

#[test]
fn a_file_that_was_swapped_on_a_web_server_is_an_error() {
    let (nginx, python) = (Nginx::start(""), PythonServer::start());
    for (folder, url) in [
        (nginx.folder(), nginx.url("trace.jsonl")),
        (python.folder(), python.url("trace.jsonl")),
    ] {
        let machine = Machine::new();
        put(&folder, "trace.jsonl", TRACE);
        let version = machine.version(&url);
        assert_eq!(machine.fetched(&[&url, "--set", &pinned(&version)]), TRACE);
        put(&folder, "trace.jsonl", LONGER_TRACE);
        let refusal = machine.refusal(&["fetch", &url, "--set", &pinned(&version)]);
        assert!(refusal.contains(CHANGED), "{refusal}");
        assert_eq!(machine.fetched(&[&url]), LONGER_TRACE);
    }
}

#[test]
fn a_version_of_another_kind_or_beside_another_one_is_refused() {
    let machine = Machine::new();
    put(machine.folder.path(), "trace.jsonl", TRACE);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let other = commit.replace('0', "f");
    for (reference, version, told) in [
        ("trace.jsonl", commit, "has no versions"),
        ("hf://acme/traces", "versionId:7", "no version of such a source"),
        ("https://host.example/x", commit, "no version of such a source"),
        (
            &format!("hf://acme/traces@{other}"),
            commit,
            "Keep one of the two",
        ),
        ("trace.jsonl", "main", "Cannot use the version"),
    ] {
        let refusal = machine.refusal(&["pin", reference, "--set", &pinned(version)]);
        assert!(refusal.contains(told), "{refusal}");
    }
}
