//! URLs that boto3 presigns, read over HTTP from a store that verifies them.

use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reprise_test_servers::S3Server;

use super::*;
use crate::http::HttpSource;
use crate::reference::{HttpUrl, Place, Reference};

const LINE: &str = "{\"timestamp\": 0}\n";

/// More than the access check keeps of the beginning.
fn content() -> String {
    LINE.repeat(20_000)
}

fn store() -> S3Server {
    let server = S3Server::start();
    server.make_bucket("private");
    server.put("private", "a folder/chat é.jsonl", content());
    server
}

fn parse(url: &str) -> HttpUrl {
    match Reference::parse(url).unwrap().place() {
        Place::Http(url) => url.clone(),
        _ => panic!("not HTTP"),
    }
}

fn source(url: &str) -> HttpSource {
    HttpSource::new(parse(url), &Access::Ambient, None).unwrap()
}

/// What a person gets to read.
async fn refusal_of(url: &str) -> String {
    source(url).look_up().await.unwrap_err().to_string()
}

/// Cases H1 and H3.
#[tokio::test]
async fn presigned_urls_are_read_byte_for_byte_and_by_get_alone() {
    let server = store();
    let disposition = "attachment; filename=\"a b+c/d.jsonl\"";
    let url = server.presign(
        "private",
        "a folder/chat é.jsonl",
        600,
        &[("ResponseContentDisposition", disposition)],
    );
    let source = source(&url);
    let found = source.look_up().await.unwrap();
    let file = file(&found);
    assert_eq!(file.name, "chat é.jsonl");
    assert!(matches!(found.version, Some(Version::ETag(_))), "{found:?}");
    assert_eq!(
        source.beside(&found, "chat é.jsonl.aiperf.json").await.unwrap(),
        None
    );
    let body = source.read(&found, file, Span::WHOLE).await.unwrap();
    assert_eq!(drain(body).await.unwrap(), content());
    let from = 15_000 * LINE.len() as u64 + 2;
    let span = Span {
        from,
        length: Some(9),
    };
    let part = source.read(&found, file, span).await.unwrap();
    assert_eq!(part.from, from);
    assert_eq!(drain(part).await.unwrap(), "timestamp");

    let target = url.strip_prefix(&server.endpoint()).unwrap();
    assert!(
        target.contains("response-content-disposition=attachment%3B%20filename%3D%22a%20b%2Bc%2Fd.jsonl%22")
    );
    let requests = server.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!((&request.method[..], &request.target[..]), ("GET", target));
        assert_eq!(request.header("authorization"), None);
    }

    let head = reqwest::Client::new().head(&url).send().await.unwrap();
    assert_eq!(head.status(), 403);

    server.put("private", "a folder/chat é.jsonl", content().replace('0', "1"));
    let problem = match source.read(&found, file, span).await {
        Ok(body) => drain(body).await.unwrap_err(),
        Err(problem) => problem,
    };
    assert!(matches!(problem, Problem::Changed), "{problem}");
}

#[tokio::test]
async fn presigned_urls_expire() {
    let server = store();
    let url = server.presign("private", "a folder/chat é.jsonl", 1, &[]);
    let expiry = parse(&url).expiry().unwrap();
    while Timestamp::now() <= expiry + SignedDuration::from_secs(1) {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(
        refusal_of(&url).await,
        format!("the server denied access (403), and the URL expired at {expiry}. Generate a new one.")
    );
    // The store itself says so too.
    let answer = reqwest::get(&url).await.unwrap();
    assert_eq!(answer.status(), 403);
    assert!(answer.text().await.unwrap().contains("Request has expired."));
}

#[tokio::test]
async fn what_is_changed_in_a_presigned_url_is_refused() {
    let server = store();
    let url = server.presign("private", "a folder/chat é.jsonl", 600, &[]);
    let (start, signature) = url.split_once("X-Amz-Signature=").unwrap();
    let forged = format!(
        "{start}X-Amz-Signature={}",
        signature.replace(|c: char| c.is_ascii_digit(), "0")
    );
    let other_object = url.replace("a%20folder", "another");
    let longer = url.replace("X-Amz-Expires=600", "X-Amz-Expires=6000");
    for changed in [forged, other_object, longer] {
        assert_ne!(changed, url);
        let message = refusal_of(&changed).await;
        assert!(
            message.starts_with("the server denied access (403)."),
            "{message}"
        );
    }
    let (unsigned, _) = url.split_once('?').unwrap();
    let message = refusal_of(unsigned).await;
    assert!(
        message.starts_with("the server denied access (403)."),
        "{message}"
    );
    source(&url).look_up().await.unwrap();
}
