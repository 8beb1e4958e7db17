//! The bytes of files.

use reprise_test_servers::hub::Fault;

use super::*;

const LARGE: &str = "acme/traces/data/chat.jsonl.gz";

fn span(from: u64, length: Option<u64>) -> Span {
    Span { from, length }
}

#[tokio::test]
async fn files_arrive_whole_and_in_parts() {
    let (hub, _) = hub();
    for (text, content) in [
        (LARGE, large()),
        ("acme/traces/data/chat.jsonl", CHAT.to_vec()),
        ("acme/traces/data/ü ber#1?.txt", b"odd".to_vec()),
        ("acme/traces/data/more/empty.jsonl", Vec::new()),
    ] {
        let source = source(&hub, text);
        let found = source.look_up().await.unwrap();
        let file = file(&found);
        let end = content.len();
        for (from, length) in [
            (0, None),
            (0, Some(end as u64 + 7)),
            (0, Some(1)),
            (end as u64 / 2, None),
            (end as u64, None),
            (end as u64, Some(1)),
        ] {
            let (at, bytes) = read(&source, &found, file, span(from, length)).await.unwrap();
            let first = usize::try_from(from).unwrap();
            let last = length.map_or(end, |length| end.min(first + usize::try_from(length).unwrap()));
            assert_eq!(
                (at, bytes),
                (from, content[first..last].to_vec()),
                "{text} {from} {length:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_lies_after_the_end_is_answered_with_all() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    let (from, bytes) = read(&source, &found, file(&found), span(1 << 40, None))
        .await
        .unwrap();
    assert_eq!((from, bytes), (0, large()));
}

#[tokio::test]
async fn a_storage_without_parts_sends_all() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    hub.plan("/repos/", 1, Fault::NoParts);
    let (from, bytes) = read(&source, &found, file(&found), span(1000, None))
        .await
        .unwrap();
    assert_eq!((from, bytes), (0, large()));
}

#[tokio::test]
async fn a_part_that_is_another_one_is_refused() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    hub.plan(
        "/repos/",
        1,
        Fault::Header("Content-Range", Some("bytes 0-98999/100000")),
    );
    let problem = read(&source, &found, file(&found), span(1000, None))
        .await
        .unwrap_err();
    assert!(matches!(problem, Problem::Hub(HubProblem::Answer)), "{problem}");
}

#[tokio::test]
async fn what_changed_after_the_pin_is_not_read() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    for (header, value) in [
        ("X-Repo-Commit", "abababababababababababababababababababab"),
        (
            "X-Linked-Etag",
            "\"abababababababababababababababababababababababababababababababab\"",
        ),
        ("X-Linked-Etag", "\"other\""),
        ("X-Linked-Size", "7"),
    ] {
        hub.plan("/resolve/", 1, Fault::Header(header, Some(value)));
        let problem = read(&source, &found, file(&found), Span::WHOLE)
            .await
            .unwrap_err();
        assert!(matches!(problem, Problem::Changed), "{header}: {problem}");
    }
    // A hub that says less is believed: the content is verified in any case.
    for header in ["X-Repo-Commit", "X-Linked-Etag", "X-Linked-Size"] {
        hub.plan("/resolve/", 1, Fault::Header(header, None));
        assert!(read(&source, &found, file(&found), Span::WHOLE).await.is_ok());
    }
    hub.dataset("acme/traces")
        .force_push("main", [("data/chat.jsonl.gz", "new")]);
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
    hub.dataset("acme/traces").delete();
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");
}

#[tokio::test]
async fn a_newer_commit_does_not_disturb_a_pinned_one() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    hub.dataset("acme/traces").commit([("data/chat.jsonl.gz", "new")]);
    let (_, bytes) = read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
    assert_eq!(bytes, large());
}

#[tokio::test]
async fn hub_and_storage_are_asked_three_times() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    hub.plan("/resolve/", 1, Fault::RetryAfter(429, 1));
    hub.plan("/repos/", 1, Fault::Status(503));
    hub.clear_log();
    let (_, bytes) = read(&source, &found, file(&found), Span::WHOLE).await.unwrap();
    assert_eq!(bytes, large());
    // Each attempt has a signature of its own.
    assert_eq!(hub.log().len(), 1 + 2 + 2);

    hub.plan("/repos/", 3, Fault::Status(503));
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the server could not answer (503), asked 3 times. Try again later."
    );
    hub.plan("/repos/", 1, Fault::Status(403));
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the storage behind the hub answered 403, not with the file. Try again later."
    );
}

#[tokio::test]
async fn a_body_that_breaks_says_how_much_came() {
    let (hub, _) = hub();
    let source = source(&hub, LARGE);
    let found = source.look_up().await.unwrap();
    hub.plan("/repos/", 1, Fault::Cut(1000));
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert!(
        matches!(
            problem,
            Problem::Cut {
                received: 1000,
                expected: Some(100_000)
            }
        ),
        "{problem}"
    );
}

#[tokio::test]
async fn redirects_in_a_circle_are_given_up() {
    let (hub, _) = hub();
    let source = source(&hub, "acme/traces/data/chat.jsonl");
    let found = source.look_up().await.unwrap();
    for location in [
        Some("/datasets/acme/traces/resolve/main/data/chat.jsonl"),
        Some("ftp://127.0.0.1/x"),
        None,
    ] {
        hub.plan("/resolve/", 20, Fault::Header("Location", location));
        let problem = read(&source, &found, file(&found), Span::WHOLE)
            .await
            .unwrap_err();
        assert!(matches!(problem, Problem::Redirect), "{location:?} {problem}");
    }
}
