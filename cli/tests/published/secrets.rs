//! A presigned URL is a credential: nothing shows it.

use super::*;

/// Everything that a run left behind, file names included.
fn everything_in(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(path.to_string_lossy().bytes());
        if path.is_dir() {
            all.extend(everything_in(&path));
        } else {
            all.extend(std::fs::read(&path).unwrap());
        }
    }
    all
}

fn contains(all: &[u8], secret: &str) -> bool {
    all.windows(secret.len())
        .any(|window| window == secret.as_bytes())
}

/// What makes a URL a credential.
fn signature(url: &str) -> &str {
    let (_, rest) = url.split_once("X-Amz-Signature=").unwrap();
    rest.split('&').next().unwrap()
}

fn redacted(url: &str) -> String {
    url.replace(signature(url), "<redacted>")
}

#[test]
fn a_presigned_url_runs_and_is_shown_nowhere() {
    let store = S3Server::start();
    store.make_bucket("traces");
    store.put("traces", "chat.jsonl", TRACE);
    let url = store.presign("traces", "chat.jsonl", 600, &[]);
    let machine = Machine::new().with("REPRISE_LOG", "trace");
    let endpoint = endpoint();
    let target = endpoint.url();
    let arguments = [
        "run",
        "--source",
        &url,
        "--format",
        "mooncake_trace",
        "--model",
        "mock",
        "--target",
        &target,
        "-o",
        "results",
    ];
    let output = machine.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for command in ["pin", "fetch", "inspect"] {
        let output = machine.run(&[command, &url, "--format", "workload_trace"]);
        assert!(
            !contains(&output.stdout, signature(&url)) && !contains(&output.stderr, signature(&url)),
            "{command}"
        );
    }
    assert!(!contains(&output.stdout, signature(&url)) && !contains(&output.stderr, signature(&url)));
    let left = everything_in(machine.folder.path());
    assert!(contains(&left, "<redacted>"));
    assert!(!contains(&left, signature(&url)));
}

#[test]
fn an_injected_url_is_found_by_its_redacted_reference() {
    let store = S3Server::start();
    store.make_bucket("traces");
    store.put("traces", "chat.jsonl", TRACE);
    let url = store.presign("traces", "chat.jsonl", 600, &[]);
    let mut machine = Machine::new();
    let refusal = machine.refusal(&["fetch", &redacted(&url)]);
    assert!(refusal.contains("no injected URL belongs to it"), "{refusal}");
    machine
        .variables
        .push(("REPRISE_INJECTED_DATASET_URLS".to_owned(), format!("[\"{url}\"]")));
    assert_eq!(machine.fetched(&[&redacted(&url)]), TRACE);
    let (summary, _) = machine.replay(&redacted(&url), &["--format", "mooncake_trace"]);
    assert!(summary.provenance.dataset.reference.contains("<redacted>"));
}

#[test]
fn how_long_a_presigned_url_lives_is_told() {
    let store = S3Server::start();
    store.make_bucket("traces");
    store.put("traces", "chat.jsonl", TRACE);
    let machine = Machine::new();
    let found = machine.json(&["pin", &store.presign("traces", "chat.jsonl", 600, &[])]);
    assert!(found["expires"].is_string(), "{found}");
    let expired = store.presign("traces", "chat.jsonl", 1, &[]);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let refusal = machine.refusal(&["pin", &expired]);
    assert!(
        refusal.contains("expired") && refusal.contains("Generate a new one"),
        "{refusal}"
    );
}
