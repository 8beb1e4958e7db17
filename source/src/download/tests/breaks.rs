//! Transfers that end in the middle.

use std::sync::Mutex;

use reprise_test_servers::http::Nginx;
use tokio::time::timeout;

use super::*;

#[tokio::test]
async fn a_break_goes_on_with_what_has_come() {
    let bytes = sample(1_000_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| serve_rest(stream, request, &stored, TAG, 150_000));
    let case = Case::new(&server.url("/x")).await;
    let kept = case.fetch(Some(sha256(&bytes))).await.unwrap();
    assert!(fs::read(&kept.path).unwrap() == bytes);
    assert_eq!(kept.sha256, Some(sha256(&bytes)));
    let expected: Vec<_> = (0..7).map(|part| part * 150_000).collect();
    assert_eq!(starts(&server), expected);
    assert_eq!(case.progress.bytes(), 1_000_000);
    assert_eq!(case.progress.total(), Some(1_000_000));
    assert_eq!(case.progress.transferred(), 1_000_000);
}

#[tokio::test]
async fn what_an_earlier_run_left_is_not_asked_for_again() {
    let nginx = Nginx::start("");
    let bytes = sample(1_000_000);
    fs::write(nginx.folder().join("x"), &bytes).unwrap();
    let case = Case::new(&nginx.url("x")).await;
    fs::write(case.partial(), &bytes[..400_000]).unwrap();
    let kept = case.fetch(None).await.unwrap();
    assert_eq!(kept.sha256, Some(sha256(&bytes)));
    assert!(fs::read(&kept.path).unwrap() == bytes);
    let log = nginx.log(2);
    assert_eq!(
        (log[1].range.as_deref(), log[1].status),
        (Some("bytes=400000-"), 206)
    );
    assert_eq!(log.len(), 2);
    assert_eq!(
        (case.progress.bytes(), case.progress.transferred()),
        (1_000_000, 600_000)
    );
}

#[tokio::test]
async fn all_of_an_earlier_run_is_verified_and_kept_without_a_request() {
    let bytes = sample(200_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| serve_rest(stream, request, &stored, TAG, 100_000));
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.partial(), &bytes).unwrap();
    assert!(case.fetched().await == bytes);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(case.progress.transferred(), 0);
}

/// nginx that knows no ranges, and Python, send everything again.
#[tokio::test]
async fn a_server_without_ranges_starts_again() {
    let nginx = Nginx::start("etag off; max_ranges 0;");
    let bytes = sample(1_000_000);
    fs::write(nginx.folder().join("x"), &bytes).unwrap();
    let case = Case::new(&nginx.url("x")).await;
    fs::write(case.partial(), sample(400_000)).unwrap();
    assert!(case.fetched().await == bytes);
    assert_eq!(case.progress.transferred(), 1_000_000);
    assert_eq!(case.progress.bytes(), 1_000_000);
}

#[tokio::test]
async fn more_than_the_file_starts_again() {
    let bytes = sample(200_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| serve_rest(stream, request, &stored, TAG, 1 << 20));
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.partial(), sample(200_001)).unwrap();
    assert!(case.fetched().await == bytes);
    assert_eq!(starts(&server), [0]);
}

#[tokio::test]
async fn a_file_without_a_version_is_never_pieced_together() {
    let bytes = sample(300_000);
    let (stored, count) = (bytes.clone(), Mutex::new(0));
    let server = Server::start(move |request, stream| {
        let mut count = count.lock().unwrap();
        *count += 1;
        // The first transfer breaks.
        let sent = if *count == 2 { 150_000 } else { 1 << 20 };
        serve_rest(stream, request, &stored, "", sent);
    });
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.partial(), b"of something else").unwrap();
    assert!(case.fetched().await == bytes);
    assert_eq!(starts(&server), [0, 0]);
}

#[tokio::test]
async fn three_attempts_that_bring_nothing_are_the_end() {
    let bytes = sample(300_000);
    let server = Server::start(move |request, stream| {
        // The access check and the first transfer bring something.
        let sent = if request.range().is_some_and(|(from, _)| from > 0) {
            0
        } else {
            100_000
        };
        serve_rest(stream, request, &bytes, TAG, sent);
    });
    let case = Case::new(&server.url("/x")).await;
    let problem = case.fetch(None).await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the connection broke after 100000 of 300000 bytes. Try again."
    );
    assert_eq!(starts(&server), [0, 100_000, 100_000, 100_000]);
    assert!(
        fs::read(case.partial()).unwrap() == sample(100_000),
        "what has come is kept"
    );
}

#[tokio::test]
async fn a_server_that_sends_less_than_the_rest_is_asked_for_more() {
    let bytes = sample(300_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| {
        let from = request.range().map_or(0, |(from, _)| from);
        let end = stored.len().min(from + 70_000);
        write(
            stream,
            &format!(
                "HTTP/1.1 206 -\r\n{TAG}content-range: bytes {from}-{}/300000\r\ncontent-length: {}\r\n\r\n",
                end - 1,
                end - from
            ),
        );
        let _ = stream.write_all(&stored[from..end]);
    });
    let mut case = Case::new(&server.url("/x")).await;
    // Without a range it would have to send everything.
    fs::write(case.partial(), &bytes[..1]).unwrap();
    case.file.size = None;
    assert!(case.fetched().await == bytes);
    assert_eq!(starts(&server), [1, 70_001, 140_001, 210_001, 280_001]);
    assert_eq!(case.progress.total(), Some(300_000));
}

#[tokio::test]
async fn a_dropped_download_keeps_what_has_come() {
    let bytes = sample(300_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| {
        if request.range().is_some_and(|(from, _)| from > 0) {
            return serve_rest(stream, request, &stored, TAG, 1 << 20);
        }
        serve_rest(stream, request, &stored, TAG, 120_000);
        // Says nothing more, and does not hang up either.
        let _ = std::io::Read::read(stream, &mut [0; 16]);
    });
    let case = Case::new(&server.url("/x")).await;
    let mut fetch = Box::pin(case.fetch(None));
    while case.progress.bytes() < 120_000 {
        assert!(timeout(Duration::from_millis(10), &mut fetch).await.is_err());
    }
    // As Ctrl-C does.
    drop(fetch);
    assert!(case.fetched().await == bytes);
    assert_eq!(starts(&server), [0, 120_000]);
}

#[tokio::test]
async fn what_comes_while_the_kept_part_is_hashed_goes_after_it() {
    let bytes = sample(24_000_000);
    let stored = bytes.clone();
    let server = Server::start(move |request, stream| serve_rest(stream, request, &stored, TAG, 1 << 20));
    let case = Case::new(&server.url("/x")).await;
    fs::write(case.partial(), &bytes[..bytes.len() - 10]).unwrap();
    let kept = case.fetch(None).await.unwrap();
    assert!(fs::read(&kept.path).unwrap() == bytes);
    assert_eq!(kept.sha256, Some(sha256(&bytes)));
}
