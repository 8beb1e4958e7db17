//! What no store does to order: answers of a store that is told what to say.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use insta::assert_snapshot;

use super::fake::{FakeStore, answer, refuse};
use super::*;
use crate::error::Waiting;
use crate::http::retry::Retry;

const IMPATIENT: Patience = Patience {
    connect: Duration::from_millis(500),
    idle: Duration::from_secs(1),
    retry: Retry {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(10),
    },
};

const SECRET: &str = "SECRET-OF-THE-SERVER";

async fn impatient(endpoint: &str, path: &str) -> S3Source {
    signed(endpoint, path, "AKIATEST", "secret", IMPATIENT).await
}

/// The head of an object of five bytes.
fn head() -> String {
    "HTTP/1.1 200 -\r\nconnection: close\r\ncontent-length: 5\r\netag: \"five\"\r\n\r\n".to_owned()
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let mut messages = String::new();
    for (status, code, text) in [
        (404, "NoSuchBucket", ""),
        (403, "AccessDenied", ""),
        (403, "SignatureDoesNotMatch", ""),
        (403, "InvalidAccessKeyId", ""),
        (400, "ExpiredToken", ""),
        (400, "InvalidToken", ""),
        (403, "RequestTimeTooSkewed", ""),
        (400, "AuthorizationHeaderMalformed", ""),
        (301, "PermanentRedirect", ""),
        (403, "InvalidObjectState", ""),
        (400, "KMS.DisabledException", ""),
        (403, "AccessDenied", "not authorized to perform: kms:Decrypt on"),
        (
            400,
            "InvalidRequest",
            "The object was stored using a form of Server Side Encryption.",
        ),
        (400, "InvalidRequest", ""),
        (501, "NotImplemented", ""),
    ] {
        let store = FakeStore::start(move |asked| refuse(asked, status, code, &format!("{text} {SECRET}")));
        let problem = refusal(&impatient(&store.url(), "bucket/chat.jsonl").await).await;
        writeln!(messages, "{status} {code} {text}\n    {problem}").unwrap();
        assert!(!format!("{problem:?}").contains(SECRET), "{problem:?}");
    }
    assert_snapshot!(messages);
    assert!(!messages.contains(SECRET));
}

#[tokio::test]
async fn a_busy_store_is_asked_three_times() {
    for status in [429, 500, 503] {
        let store = FakeStore::start(move |asked| refuse(asked, status, "SlowDown", SECRET));
        let problem = refusal(&impatient(&store.url(), "bucket/chat.jsonl").await).await;
        assert_eq!(
            problem.to_string(),
            format!("the server could not answer ({status}), asked 3 times. Try again later.")
        );
        assert_eq!(store.asked().len(), 3);
    }
}

#[tokio::test]
async fn the_third_attempt_may_succeed() {
    let store = FakeStore::start(|asked| match asked.number {
        1 => String::new(),
        2 => refuse(asked, 503, "SlowDown", ""),
        _ => head(),
    });
    let source = impatient(&store.url(), "bucket/chat.jsonl").await;
    let found = source.look_up().await.unwrap();
    assert_eq!(found.version, Some(Version::ETag("\"five\"".to_owned())));
}

#[tokio::test]
async fn a_bucket_in_another_region_is_followed_there_once() {
    let store = FakeStore::start(|asked| {
        if asked.has("/eu-central-1/s3/") {
            head()
        } else {
            answer(301, "x-amz-bucket-region: eu-central-1\r\n", "")
        }
    });
    let source = impatient(&store.url(), "bucket/chat.jsonl").await;
    source.look_up().await.unwrap();
    source.look_up().await.unwrap();
    assert_eq!(store.asked().len(), 3);

    let evasive = FakeStore::start(|asked| {
        let region = format!("x-amz-bucket-region: eu-west-{}\r\n", asked.number);
        answer(301, &region, "")
    });
    let source = impatient(&evasive.url(), "bucket/chat.jsonl").await;
    let problem = refusal(&source).await;
    assert!(
        matches!(&problem, Problem::S3(S3Problem::WrongRegion { region }) if region == "eu-west-1"),
        "{problem}"
    );
    // The object, the same in the other region, and there once more for the reason.
    assert_eq!(evasive.asked().len(), 3);

    let host = FakeStore::answering(answer(301, "x-amz-bucket-region: evil.example/x\r\n", ""));
    let source = impatient(&host.url(), "bucket/chat.jsonl").await;
    let problem = refusal(&source).await;
    assert!(
        matches!(&problem, Problem::S3(S3Problem::WrongRegion { region }) if region == "us-east-1"),
        "{problem}"
    );
}

#[tokio::test]
async fn an_archived_object_is_refused_before_it_is_read() {
    let in_glacier = |restore: &str| {
        format!(
            "HTTP/1.1 200 -\r\nconnection: close\r\ncontent-length: 5\r\netag: \"five\"\r\nx-amz-storage-class: GLACIER\r\n{restore}\r\n"
        )
    };
    for restore in ["", "x-amz-restore: ongoing-request=\"true\"\r\n"] {
        let store = FakeStore::answering(in_glacier(restore));
        let problem = refusal(&impatient(&store.url(), "bucket/chat.jsonl").await).await;
        assert!(matches!(problem, Problem::S3(S3Problem::Archived)), "{problem}");
    }
    let restored = in_glacier(
        "x-amz-restore: ongoing-request=\"false\", expiry-date=\"Fri, 21 Dec 2029 00:00:00 GMT\"\r\n",
    );
    let store = FakeStore::answering(restored);
    impatient(&store.url(), "bucket/chat.jsonl")
        .await
        .look_up()
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_no_store_is_said_to_be_none() {
    let page = answer(
        200,
        "content-type: text/html\r\n",
        &format!("<html>{SECRET}<br></html>"),
    );
    let store = FakeStore::answering(page);
    let problem = refusal(&impatient(&store.url(), "bucket/folder/").await).await;
    assert!(matches!(problem, Problem::S3(S3Problem::NotS3)), "{problem}");

    let missing = FakeStore::answering(answer(404, "content-type: text/html\r\n", "<html>404"));
    let problem = refusal(&impatient(&missing.url(), "bucket/folder/").await).await;
    assert_eq!(
        problem.to_string(),
        "the store's answer (404) is none that S3 gives here. Check that the endpoint is that of an S3 store."
    );
}

#[tokio::test]
async fn failed_connections_are_told_apart() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let problem = refusal(&impatient(&format!("http://{closed}"), "bucket/a").await).await;
    assert!(matches!(problem, Problem::Refused), "{problem}");

    let problem = refusal(&impatient("http://host.invalid", "bucket/a").await).await;
    assert!(matches!(problem, Problem::HostNotFound), "{problem}");

    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let secure = format!("https://{}", plain.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in plain.incoming().map(Result::unwrap) {
            let _ = stream.write_all(answer(400, "", "").as_bytes());
            let _ = stream.read(&mut [0; 4096]);
        }
    });
    let problem = refusal(&impatient(&secure, "bucket/a").await).await;
    assert!(matches!(problem, Problem::Tls(_)), "{problem}");

    let rude = FakeStore::answering(String::new());
    let problem = refusal(&impatient(&rude.url(), "bucket/a").await).await;
    assert!(matches!(problem, Problem::S3(S3Problem::Connection)), "{problem}");
    assert_eq!(rude.asked().len(), 3);
}

#[tokio::test]
async fn a_silent_store_is_given_up() {
    let silent = FakeStore::silent();
    let problem = refusal(&impatient(&silent.url(), "bucket/a").await).await;
    let waited_for = |problem: &Problem| match problem {
        Problem::Timeout { waiting, .. } => Some(*waiting),
        _ => None,
    };
    assert_eq!(waited_for(&problem), Some(Waiting::Answer), "{problem}");

    // A TLS handshake that the store never joins.
    let secure = silent.url().replace("http://", "https://");
    let problem = refusal(&impatient(&secure, "bucket/a").await).await;
    assert_eq!(waited_for(&problem), Some(Waiting::Connection), "{problem}");
}

/// Looks up an object of five bytes, and reads what `get` answers.
async fn read_answer(get: &'static str, span: Span) -> Result<String, Problem> {
    let store = FakeStore::start(move |asked| {
        if asked.is("HEAD") {
            return head();
        }
        format!("HTTP/1.1 {get}")
    });
    let source = impatient(&store.url(), "bucket/a").await;
    let found = source.look_up().await.unwrap();
    read(&source, &found, file(&found), span).await
}

#[tokio::test]
async fn only_the_part_that_was_asked_for_is_taken() {
    let middle = Span {
        from: 1,
        length: Some(2),
    };
    let right = "206 -\r\nconnection: close\r\ncontent-length: 2\r\ncontent-range: bytes 1-2/5\r\netag: \"five\"\r\n\r\nbc";
    assert_eq!(read_answer(right, middle).await.unwrap(), "bc");
    let whole = "200 -\r\nconnection: close\r\ncontent-length: 5\r\n\r\nabcde";
    assert_eq!(read_answer(whole, middle).await.unwrap(), "abcde");

    for wrong in [
        "206 -\r\nconnection: close\r\ncontent-length: 2\r\ncontent-range: bytes 2-3/5\r\n\r\ncd",
        "206 -\r\nconnection: close\r\ncontent-length: 1\r\ncontent-range: bytes 1-2/5\r\n\r\nb",
        "206 -\r\nconnection: close\r\ncontent-length: 1\r\ncontent-range: bytes 1-1/5\r\n\r\nb",
        "206 -\r\nconnection: close\r\ncontent-length: 2\r\ncontent-range: nonsense\r\n\r\nbc",
    ] {
        let problem = read_answer(wrong, middle).await.unwrap_err();
        assert!(
            matches!(problem, Problem::S3(S3Problem::WrongPart)),
            "{wrong}: {problem}"
        );
    }
    for changed in [
        "200 -\r\nconnection: close\r\ncontent-length: 5\r\netag: \"other\"\r\n\r\nabcde",
        "200 -\r\nconnection: close\r\ncontent-length: 6\r\n\r\nabcdef",
        "206 -\r\nconnection: close\r\ncontent-length: 2\r\ncontent-range: bytes 1-2/6\r\n\r\nbc",
    ] {
        let problem = read_answer(changed, middle).await.unwrap_err();
        assert!(matches!(problem, Problem::Changed), "{changed}: {problem}");
    }
}

#[tokio::test]
async fn bodies_that_end_early_or_stop_or_are_damaged_are_errors() {
    let cut = read_answer(
        "200 -\r\nconnection: close\r\ncontent-length: 5\r\n\r\nabc",
        Span::WHOLE,
    )
    .await;
    let cut = cut.unwrap_err();
    assert_eq!(
        cut.to_string(),
        "the connection broke after 3 of 5 bytes. Try again."
    );

    // The SHA-256 of nothing.
    let damaged = read_answer(
        "200 -\r\nconnection: close\r\ncontent-length: 5\r\nx-amz-checksum-sha256: 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\r\n\r\nabcde",
        Span::WHOLE,
    )
    .await
    .unwrap_err();
    assert!(matches!(damaged, Problem::S3(S3Problem::Checksum)), "{damaged}");
}

#[tokio::test]
async fn a_store_that_stops_sending_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let mut asked = [0; 4096];
            let length = stream.read(&mut asked).unwrap();
            let bytes = if asked[..length].starts_with(b"HEAD") {
                ""
            } else {
                "abc"
            };
            let answer = format!("{}{bytes}", head());
            // The client may have gone. While it has not, the connection stays open.
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.read(&mut asked);
        }
    });
    let source = impatient(&url, "bucket/a").await;
    let found = source.look_up().await.unwrap();
    let problem = read(&source, &found, file(&found), Span::WHOLE)
        .await
        .unwrap_err();
    assert!(
        matches!(
            problem,
            Problem::Timeout {
                waiting: Waiting::More,
                ..
            }
        ),
        "{problem}"
    );
}

#[tokio::test]
async fn all_pages_of_a_listing_are_read() {
    let page = |entries: &str, next: &str| {
        let body = format!("<ListBucketResult>{entries}{next}</ListBucketResult>");
        answer(200, "content-type: application/xml\r\n", &body)
    };
    let entry =
        |key: &str| format!("<Contents><Key>{key}</Key><ETag>\"{key}\"</ETag><Size>1</Size></Contents>");
    let store = FakeStore::start(move |asked| {
        if asked.has("continuation-token=more") {
            page(&entry("f/a"), "<IsTruncated>false</IsTruncated>")
        } else {
            let next = "<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>";
            page(&(entry("f/b") + &entry("f/c")), next)
        }
    });
    let found = impatient(&store.url(), "bucket/f/")
        .await
        .look_up()
        .await
        .unwrap();
    let names: Vec<_> = files(&found).iter().map(|file| &file.name[..]).collect();
    assert_eq!(names, ["a", "b", "c"]);

    let endless = FakeStore::answering(page(&entry("f/b"), "<IsTruncated>true</IsTruncated>"));
    let problem = refusal(&impatient(&endless.url(), "bucket/f/").await).await;
    assert!(matches!(problem, Problem::S3(S3Problem::NotS3)), "{problem}");
}
