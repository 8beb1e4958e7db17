//! Who may read what, and what people are told.

use std::env;
use std::fmt::Write as _;
use std::process::Command;

use super::*;
use crate::guard::AddressRules;

/// Who looks for what, and what the answer is.
async fn told(hub: &Hub, token: Option<&str>, text: &str) -> String {
    let source = HubSource::patient(&path(text), &settings(hub, token), IMPATIENT).unwrap();
    match source.look_up().await {
        Ok(_) => "fine".to_owned(),
        Err(problem) => {
            let printed = format!("{problem} {problem:?}");
            assert!(!printed.contains("hf_"), "{printed}");
            problem.to_string()
        }
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let (hub, _) = hub();
    hub.dataset("acme/secret").commit([("a", "a")]);
    hub.dataset("acme/secret").private("hf_owner");
    hub.dataset("acme/gated").commit([("a", "a")]);
    hub.dataset("acme/gated").gated("hf_owner");
    hub.dataset("acme/disabled").commit([("a", "a")]);
    hub.dataset("acme/disabled").disable();
    hub.model("acme/tokenizer").commit([("tokenizer.json", "{}")]);
    hub.account("hf_other");
    let mut table = String::new();
    for (token, text) in [
        (None, "acme/none"),
        (Some("hf_other"), "acme/none"),
        (None, "acme/tokenizer/tokenizer.json"),
        (None, "models/acme/traces"),
        (None, "acme/traces@none"),
        (None, "acme/traces/none.jsonl"),
        (None, "acme/traces/DATA/chat.jsonl"),
        (None, "acme/traces/data/chat.jsonl/"),
        (None, "acme/traces/data/chat.jsonl/x"),
        (None, "acme/secret"),
        (Some("hf_other"), "acme/secret"),
        (Some("hf_owner"), "acme/secret"),
        (None, "acme/gated/a"),
        (Some("hf_other"), "acme/gated/a"),
        (Some("hf_owner"), "acme/gated/a"),
        (Some("hf_wrong"), "acme/traces"),
        (None, "acme/disabled"),
    ] {
        let told = told(&hub, token, text).await;
        writeln!(
            table,
            "{} as {}:\n    {told}",
            path(text),
            token.unwrap_or("anyone")
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn a_token_goes_to_the_hub_alone() {
    let (hub, _) = hub();
    hub.account("hf_mine");
    let source = HubSource::patient(
        &path("acme/traces/data/chat.jsonl.gz"),
        &settings(&hub, Some("hf_mine")),
        IMPATIENT,
    )
    .unwrap();
    let found = source.look_up().await.unwrap();
    let (_, bytes) = read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
    assert_eq!(bytes, large());
    let log = hub.log();
    assert!(log.iter().any(|logged| logged.is_storage));
    for logged in log {
        let expected = (!logged.is_storage).then_some("Bearer hf_mine");
        assert_eq!(logged.header("authorization"), expected, "{}", logged.target);
    }
}

#[tokio::test]
async fn nobody_in_particular_sends_no_token() {
    let (hub, _) = hub();
    let rules = AddressRules::default().allow_network("127.0.0.0/8").unwrap();
    let settings = HubSettings::anonymous(Some(hub.endpoint()), "/nonexistent".into(), rules).unwrap();
    for text in ["acme/traces/data/chat.jsonl.gz", "acme/traces/data/chat.jsonl"] {
        let source = HubSource::patient(&path(text), &settings, IMPATIENT).unwrap();
        let found = source.look_up().await.unwrap();
        read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
    }
    let log = hub.log();
    assert!(log.len() > 4);
    assert!(log.iter().all(|logged| logged.header("authorization").is_none()));
}

#[tokio::test]
async fn nobody_in_particular_is_kept_from_this_network() {
    let (hub, _) = hub();
    let text = "acme/traces/data/chat.jsonl.gz";
    let anonymous = |rules: AddressRules| {
        let settings = HubSettings::anonymous(Some(hub.endpoint()), "/nonexistent".into(), rules).unwrap();
        HubSource::patient(&path(text), &settings, IMPATIENT)
    };
    assert!(matches!(
        anonymous(AddressRules::default()).err().unwrap(),
        Problem::Guard(_)
    ));
    // The hub may be reached, the storage that it redirects to may not.
    let source = anonymous(AddressRules::default().allow_network("127.0.0.1").unwrap()).unwrap();
    let found = source.look_up().await.unwrap();
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert!(matches!(problem, Problem::Guard(_)), "{problem}");
    assert!(!hub.log().iter().any(|logged| logged.is_storage));
}

/// The same once more, where there is much to find.
#[test]
fn nor_is_anything_taken_from_the_environment() {
    let name = "hub::tests::access::nobody_in_particular_sends_no_token";
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("token"), "hf_SECRET").unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name])
        .env("HF_TOKEN", "hf_SECRET")
        .env("HF_HOME", home.path())
        .env("HF_ENDPOINT", "http://127.0.0.1:1")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}
