//! One trace, from wherever it is published.

use reprise_contract::summary::PinnedBy;
use reprise_test_servers::http::PythonServer;

use super::*;

const FORMAT: [&str; 2] = ["--format", "mooncake_trace"];

#[test]
fn a_trace_sends_the_same_bodies_wherever_it_comes_from() {
    let (hub, store, server) = (Hub::start(), S3Server::start(), PythonServer::start());
    let machine = Machine::new().with_hub(&hub).with_store(&store);
    put(machine.folder.path(), "trace.jsonl", TRACE);
    put(&server.folder(), "trace.jsonl", TRACE);
    hub.dataset("acme/traces").commit([("data/trace.jsonl", TRACE)]);
    store.make_bucket("traces");
    store.put("traces", "chat/trace.jsonl", TRACE);

    let (local, bodies) = machine.replay("trace.jsonl", &FORMAT);
    assert_eq!(local.provenance.dataset.pin, None);
    assert_eq!(local.provenance.schedule.mode, "Recorded");
    for source in [
        server.url("trace.jsonl").as_str(),
        "hf://acme/traces/data/trace.jsonl",
        "s3://traces/chat/trace.jsonl",
    ] {
        let (summary, arrived) = machine.replay(source, &FORMAT);
        let (dataset, of_local) = (&summary.provenance.dataset, &local.provenance.dataset);
        assert_eq!(arrived, bodies, "{source}");
        assert_eq!(dataset.content_digest, of_local.content_digest, "{source}");
        assert_eq!(dataset.sha256, of_local.sha256, "{source}");
        assert_eq!(summary.provenance.schedule, local.provenance.schedule, "{source}");
        let pin = dataset.pin.as_ref().unwrap();
        assert!(pin.version.is_some(), "{source}");
        assert_eq!(pin.pinned_by, PinnedBy::Run, "{source}");
        assert_eq!(dataset.files.len(), 1, "{source}");
    }
}

#[test]
fn a_manifest_names_file_format_and_block_size() {
    let (hub, store) = (Hub::start(), S3Server::start());
    let machine = Machine::new().with_hub(&hub).with_store(&store);
    let manifest = r#"{"path": "data/trace.jsonl", "format": "mooncake_trace", "block_size": 550,
                       "requires": {"aiperf": ">=0.13", "endpoint_types": ["chat"]}}"#;
    hub.dataset("acme/traces")
        .commit([("data/trace.jsonl", TRACE), ("aiperf.json", manifest)]);
    store.make_bucket("traces");
    store.put("traces", "chat/data/trace.jsonl", TRACE);
    store.put("traces", "chat/reprise.json", manifest);
    let folder = machine.path("published");
    put(&folder, "data/trace.jsonl", TRACE);
    put(&folder, "reprise.json", manifest);

    let (local, bodies) = machine.replay("published", &[]);
    for source in ["hf://acme/traces", "s3://traces/chat/"] {
        let (summary, arrived) = machine.replay(source, &[]);
        let dataset = &summary.provenance.dataset;
        assert_eq!(arrived, bodies, "{source}");
        assert_eq!(
            dataset.content_digest, local.provenance.dataset.content_digest,
            "{source}"
        );
        assert_eq!(dataset.format_chosen_by, "manifest", "{source}");
        assert!(dataset.manifest.is_some(), "{source}");
    }
}

#[test]
fn a_tokenizer_is_pinned_fetched_and_recorded() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    put(machine.folder.path(), "trace.jsonl", TRACE);
    let commit = hub.model("acme/model").commit([
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", "{\"a\": 1}"),
        ("model.safetensors", "weights"),
    ]);
    let (summary, _) = machine.replay("trace.jsonl", &["--set", "dataset.tokenizer=hf://acme/model"]);
    let tokenizer = summary.provenance.dataset.tokenizer.unwrap();
    let names: Vec<_> = tokenizer.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["tokenizer.json", "tokenizer_config.json"]);
    assert_eq!(tokenizer.pin.unwrap().version, Some(commit));
    assert!(
        !hub.log()
            .iter()
            .any(|request| request.target.contains("safetensors"))
    );
}

#[test]
fn what_the_log_names_runs_the_same_again() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let commit = hub.dataset("acme/traces").commit([("chat.jsonl", TRACE)]);
    let output = machine.run(&["fetch", "hf://acme/traces/chat.jsonl"]);
    let canonical = format!("hf://datasets/acme/traces@{commit}/chat.jsonl");
    let line = stderr(&output);
    assert!(
        line.contains(&format!(
            "Remote dataset hf://acme/traces/chat.jsonl: using {canonical} (version {commit}, 1 file(s), {} bytes, sha256 ",
            TRACE.len()
        )),
        "{line}"
    );
    hub.dataset("acme/traces").commit([("chat.jsonl", LONGER_TRACE)]);
    assert_eq!(machine.fetched(&[&canonical]), TRACE);
    assert_eq!(machine.fetched(&["hf://acme/traces/chat.jsonl"]), LONGER_TRACE);
}

#[test]
fn the_job_as_it_ran_runs_the_same_version_again() {
    let hub = Hub::start();
    let machine = Machine::new().with_hub(&hub);
    let commit = hub.dataset("acme/traces").commit([("chat.jsonl", TRACE)]);
    let (first, bodies) = machine.replay(
        "hf://acme/traces/chat.jsonl",
        &["--format", "mooncake_trace", "-o", "first"],
    );
    assert_eq!(first.spec["dataset"]["version"], commit.as_str());
    hub.dataset("acme/traces").commit([("chat.jsonl", LONGER_TRACE)]);
    let endpoint = endpoint();
    let target = format!("target.urls=[\"{}\"]", endpoint.url());
    machine.shown(&[
        "run",
        "first/effective-spec.yaml",
        "--set",
        &target,
        "-o",
        "second",
    ]);
    let mut again: Vec<_> = endpoint
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.body_sha256)
        .collect();
    again.sort();
    assert_eq!(again, bodies);
}
