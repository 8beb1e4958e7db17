//! What is there, as which version.

use reprise_test_servers::hub::Fault;

use super::*;
use crate::version::Version;

#[tokio::test]
async fn a_file_is_pinned_to_a_commit() {
    let (hub, commit) = hub();
    let found = look_up(&hub, "acme/traces/data/chat.jsonl").await.unwrap();
    assert_eq!(found.version, Some(Version::Commit(commit.clone())));
    assert_eq!(
        found.canonical,
        Some(format!("hf://datasets/acme/traces@{commit}/data/chat.jsonl"))
    );
    let file = file(&found);
    assert_eq!(
        (file.name.as_str(), file.location.as_str()),
        ("chat.jsonl", "data/chat.jsonl")
    );
    assert_eq!((file.size, file.sha256), (Some(CHAT.len() as u64), None));

    let found = look_up(&hub, "acme/traces/data/chat.jsonl.gz").await.unwrap();
    let file = super::file(&found);
    assert_eq!(file.tag, file.sha256.map(|digest| digest.to_string()));
    assert!(file.sha256.is_some());
}

#[tokio::test]
async fn a_folder_has_all_files_at_any_depth() {
    let (hub, commit) = hub();
    hub.page_size(2);
    for (text, canonical, expected) in [
        (
            "acme/traces",
            format!("hf://datasets/acme/traces@{commit}"),
            [
                "README.md",
                "data/chat.jsonl",
                "data/chat.jsonl.gz",
                "data/more/empty.jsonl",
                "data/ü ber#1?.txt",
            ]
            .as_slice(),
        ),
        (
            "datasets/acme/traces/data",
            format!("hf://datasets/acme/traces@{commit}/data"),
            &["chat.jsonl", "chat.jsonl.gz", "more/empty.jsonl", "ü ber#1?.txt"],
        ),
        (
            "acme/traces/data/more/",
            format!("hf://datasets/acme/traces@{commit}/data/more"),
            &["empty.jsonl"],
        ),
    ] {
        let found = look_up(&hub, text).await.unwrap();
        let names: Vec<_> = files(&found).iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, expected, "{text}");
        assert_eq!(found.canonical, Some(canonical));
    }
    let pages = hub.log();
    let mut pages = pages.iter().filter(|logged| logged.target.contains("cursor="));
    assert!(pages.next().is_some());
}

#[tokio::test]
async fn revisions_are_branches_tags_and_commits() {
    let (hub, main) = hub();
    let traces = hub.dataset("acme/traces");
    traces.tag("v1.0", &main);
    let slash = traces.commit_on("feature/x", [("a.jsonl", "a")]);
    let converted = traces.commit_on("refs/convert/parquet", [("a.jsonl", "b")]);
    let newer = traces.commit([("a.jsonl", "c")]);
    for (revision, commit) in [
        ("", &newer),
        ("@main", &newer),
        ("@v1.0", &main),
        ("@feature%2Fx", &slash),
        ("@refs%2Fconvert%2Fparquet", &converted),
        (&format!("@{main}"), &main),
        (&format!("@{}", main.to_uppercase()), &main),
    ] {
        let found = look_up(&hub, &format!("acme/traces{revision}")).await.unwrap();
        assert_eq!(found.version, Some(Version::Commit(commit.clone())), "{revision}");
    }
}

#[tokio::test]
async fn kinds_are_not_confused() {
    let hub = Hub::start();
    hub.dataset("acme/traces").commit([("a", "dataset")]);
    hub.model("acme/traces").commit([("a", "model")]);
    hub.space("acme/traces").commit([("a", "space")]);
    for kind in ["dataset", "model", "space"] {
        let source = source(&hub, &format!("{kind}s/acme/traces/a"));
        let found = source.look_up().await.unwrap();
        let (_, bytes) = read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
        assert_eq!(bytes, kind.as_bytes());
        assert!(found.canonical.unwrap().starts_with(&format!("hf://{kind}s/")));
    }
}

#[tokio::test]
async fn files_beside_a_file_are_of_its_commit() {
    let (hub, _) = hub();
    let traces = hub.dataset("acme/traces");
    traces.commit([("data/chat.jsonl.reprise.json", "{}"), ("top.json", "{}")]);
    let source = source(&hub, "acme/traces/data/chat.jsonl");
    let found = source.look_up().await.unwrap();
    let beside = source
        .beside(&found, "chat.jsonl.reprise.json")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(beside.location, "data/chat.jsonl.reprise.json");
    assert_eq!(beside.name, "chat.jsonl.reprise.json");
    assert_eq!(source.beside(&found, "top.json").await.unwrap(), None);
    // What is there after the pin is not in it.
    traces.commit([("data/later.json", "{}")]);
    assert_eq!(source.beside(&found, "later.json").await.unwrap(), None);

    let top = super::source(&hub, "acme/traces/README.md");
    let found = top.look_up().await.unwrap();
    assert_eq!(
        top.beside(&found, "top.json").await.unwrap().unwrap().location,
        "top.json"
    );
    traces.force_push("main", [("a", "a")]);
    let problem = top.beside(&found, "top.json").await.unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
}

#[tokio::test]
async fn a_busy_hub_is_asked_three_times() {
    let (hub, _) = hub();
    for part in ["/revision/", "/tree/", "/paths-info/"] {
        hub.plan(part, 2, Fault::Status(503));
    }
    assert!(look_up(&hub, "acme/traces/data").await.is_ok());

    for (part, fault, expected) in [
        (
            "/revision/",
            Fault::Status(503),
            "the server could not answer (503), asked 3 times. Try again later.",
        ),
        (
            "/revision/",
            Fault::RetryAfter(429, 300),
            "the server could not answer (429), asked once. Try again in 300 s.",
        ),
        (
            "/tree/",
            Fault::RetryAfter(429, 300),
            "the server could not answer (429), asked once. Try again in 300 s.",
        ),
        (
            "/paths-info/",
            Fault::Status(500),
            "the server could not answer (500), asked 3 times. Try again later.",
        ),
    ] {
        hub.plan(part, 3, fault);
        let problem = look_up(&hub, "acme/traces/data").await.unwrap_err();
        assert_eq!(problem.to_string(), expected, "{part}");
        // What is left of the plan.
        while look_up(&hub, "acme/traces/data").await.is_err() {}
    }
    hub.plan("/revision/", 2, Fault::HangUp);
    hub.plan("/tree/", 2, Fault::HangUp);
    hub.plan("/tree/", 1, Fault::Cut(3));
    assert!(look_up(&hub, "acme/traces").await.is_err());
    assert!(look_up(&hub, "acme/traces").await.is_ok());
}

#[tokio::test]
async fn what_is_no_hub_is_found_out() {
    let (hub, commit) = hub();
    let other = "ab".repeat(20);
    for (part, body) in [
        ("/revision/", "<html>SECRET</html>".to_owned()),
        (
            "/revision/",
            r#"{"id":"acme/traces","sha":"../../SECRET"}"#.to_owned(),
        ),
        ("/revision/", r#"{"id":"acme/traces"}"#.to_owned()),
        ("/revision/", format!(r#"{{"id":"acme/traces","sha":"{other}"}}"#)),
        ("/paths-info/", "SECRET".to_owned()),
        (
            "/paths-info/",
            r#"[{"type":"file","path":"data/chat.jsonl","oid":"SECRET","size":1}]"#.to_owned(),
        ),
    ] {
        hub.plan(part, 1, Fault::Body(body.clone().into_bytes()));
        let problem = look_up(&hub, &format!("acme/traces@{commit}/data/chat.jsonl"))
            .await
            .unwrap_err();
        assert!(
            matches!(problem, Problem::Hub(HubProblem::Answer)),
            "{body}: {problem}"
        );
        assert!(
            !format!("{problem} {problem:?}").contains("SECRET"),
            "{problem:?}"
        );
    }
}
