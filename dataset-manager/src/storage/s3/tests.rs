mod environment;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use reprise_test_servers::S3Server;
use reprise_test_servers::s3::{ACCESS_KEY, SECRET_KEY};

use super::*;
use crate::storage::tests::{Told, attempt, files, silent};
use crate::storage::{Kind, ResultStore, StorageError};

const BUCKET: &str = "perf-results";
const PREFIX: &str = "chat/august/chat/1a2b3c4d-2/";

/// So that what goes wrong goes wrong soon.
fn patience() -> Patience {
    Patience {
        attempts: 8,
        first_pause: Duration::from_millis(100),
        longest_pause: Duration::from_secs(1),
        ..Patience::default()
    }
}

fn settings(endpoint: &str) -> ResultsS3 {
    ResultsS3 {
        url: format!("s3://{BUCKET}/chat/august"),
        endpoint: Some(endpoint.to_owned()),
        region: None,
        path_style: None,
    }
}

fn store_as(settings: &ResultsS3, access_key: &str, secret_key: &str, patience: Patience) -> ResultStore {
    let credentials = ResultsCredentials::new(access_key.to_owned(), secret_key.to_owned(), None);
    let bucket = Bucket::with_patience(settings, credentials, &attempt(), patience);
    ResultStore(Kind::S3(bucket.unwrap()))
}

fn store(endpoint: &str) -> ResultStore {
    store_as(&settings(endpoint), ACCESS_KEY, SECRET_KEY, patience())
}

fn server() -> S3Server {
    let server = S3Server::start();
    server.make_bucket(BUCKET);
    server
}

#[tokio::test]
async fn files_are_there_whole_and_can_be_stored_again() {
    let (server, files, told) = (server(), files(), Arc::new(Told::default()));
    let store = store(&server.writable_endpoint());
    store.check().await.unwrap();
    assert_eq!(
        (server.keys(BUCKET), server.open_uploads(BUCKET)),
        (vec![], vec![])
    );
    let noted = Arc::clone(&told);
    let stored = store
        .store(&files.paths, &move |done, total| noted.note(done, total))
        .await
        .unwrap();
    assert_eq!(stored.place, format!("s3://{BUCKET}/{PREFIX}"));
    assert_eq!(stored.files.last().unwrap().name, SUMMARY_FILE);
    for (name, content) in &files.contents {
        assert!(
            server.get(BUCKET, &format!("{PREFIX}{name}")).as_ref() == Some(content),
            "{name}"
        );
    }
    assert_eq!(server.keys(BUCKET).len(), files.contents.len());
    assert!(told.is_whole(stored.files.iter().map(|file| file.bytes).sum()));

    server.delete(BUCKET, &format!("{PREFIX}report.html"));
    assert_eq!(store.store(&files.paths, &silent).await.unwrap(), stored);
    assert_eq!(server.keys(BUCKET).len(), files.contents.len());
}

#[tokio::test]
async fn another_result_is_not_overwritten() {
    let (server, files) = (server(), files());
    let store = store(&server.writable_endpoint());
    let key = format!("{PREFIX}{SUMMARY_FILE}");
    server.put(BUCKET, &key, "another");
    for error in [
        store.check().await.unwrap_err(),
        store.store(&files.paths, &silent).await.unwrap_err(),
    ] {
        assert_eq!(problem(&error), &S3Problem::Taken(SUMMARY_FILE.to_owned()));
    }
    assert_eq!(server.get(BUCKET, &key).unwrap(), b"another");
}

fn problem(error: &StorageError) -> &S3Problem {
    match &error.problem {
        StorageProblem::S3(problem) => problem,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn refusals_are_told_apart_before_there_is_a_result() {
    let server = server();
    server.make_account("AKIASOMEBODY", "somebody/secret");
    let endpoint = server.writable_endpoint();
    let right = settings(&endpoint);
    let elsewhere = ResultsS3 {
        url: "s3://no-such-bucket/x".to_owned(),
        ..right.clone()
    };
    let mut told = Vec::new();
    for (settings, access_key, secret_key) in [
        (&elsewhere, ACCESS_KEY, SECRET_KEY),
        (&right, ACCESS_KEY, "wrong/s3cret"),
        (&right, "AKIANOBODY", "wrong/s3cret"),
        (&right, "AKIASOMEBODY", "somebody/secret"),
    ] {
        let error = store_as(settings, access_key, secret_key, patience())
            .check()
            .await
            .unwrap_err();
        told.push(error.to_string());
    }
    let told = told.join("\n");
    assert!(!told.contains("s3cret"));
    insta::assert_snapshot!("refusals", told);
    assert_eq!(server.open_uploads(BUCKET), [""; 0]);
}

/// Kills the server when the first part has arrived, and starts it again after a while.
#[tokio::test]
async fn a_server_that_dies_and_comes_back_gets_everything() {
    let (server, files) = (Arc::new(server()), files());
    let store = store(&server.writable_endpoint());
    let killed = AtomicBool::new(false);
    let dying = Arc::clone(&server);
    let progress = move |done: u64, _: u64| {
        if done > 1_000_000 && !killed.swap(true, Ordering::Relaxed) {
            dying.kill();
            let dead = Arc::clone(&dying);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(300));
                dead.start_again();
            });
        }
    };
    store.store(&files.paths, &progress).await.unwrap();
    for (name, content) in &files.contents {
        assert!(
            server.get(BUCKET, &format!("{PREFIX}{name}")).as_ref() == Some(content),
            "{name}"
        );
    }
    assert_eq!(server.open_uploads(BUCKET), [""; 0]);
}

#[tokio::test]
async fn a_server_that_stays_dead_is_an_error_and_the_files_stay() {
    let (server, files) = (server(), files());
    let patience = Patience {
        attempts: 3,
        ..patience()
    };
    let store = store_as(
        &settings(&server.writable_endpoint()),
        ACCESS_KEY,
        SECRET_KEY,
        patience,
    );
    server.kill();
    let error = store.store(&files.paths, &silent).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "Cannot store results in s3://{BUCKET}/{PREFIX}: the connection to the store failed. Check the network and the endpoint (results.s3.endpoint), and try again."
        )
    );
    assert!(files.paths.iter().all(|path| path.exists()));
}

/// A file that changes while its parts are on their way: the upload is taken back.
#[tokio::test]
async fn an_upload_that_fails_is_taken_back() {
    let (server, files) = (server(), files());
    let store = store(&server.writable_endpoint());
    let large = files
        .paths
        .iter()
        .find(|path| path.ends_with("outcomes.parquet"))
        .unwrap()
        .clone();
    let changed = large.clone();
    // The small files go before it.
    let progress = move |_: u64, _: u64| std::fs::write(&changed, "other").unwrap();
    let error = store.store(&files.paths, &progress).await.unwrap_err();
    assert!(matches!(error.problem, StorageProblem::File(_)), "{error}");
    assert_eq!(server.open_uploads(BUCKET), [""; 0]);
    assert!(!server.keys(BUCKET).contains(&format!("{PREFIX}{SUMMARY_FILE}")));
}

/// A store that gives these answers in turn, and the last of them from then on; counts what it was asked.
fn answering(answers: &[&str]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            read_request(&mut stream);
            let number = count.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
            stream.write_all(answers[number].as_bytes()).unwrap();
        }
    });
    (endpoint, asked)
}

/// The head, and the body by its length.
fn read_request(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line
            .trim_end()
            .to_ascii_lowercase()
            .strip_prefix("content-length: ")
        {
            Some(bytes) => length = bytes.parse().unwrap(),
            None if line == "\r\n" => break,
            None => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const TAKEN_IN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Stores the summary alone.
async fn store_summary(endpoint: &str) -> S3Problem {
    let files = files();
    let stored = store(endpoint).store(&files.paths[..1], &silent).await;
    problem(&stored.unwrap_err()).clone()
}

#[tokio::test]
async fn what_a_store_made_of_it_is_looked_at() {
    let summary = SUMMARY_FILE.to_owned();
    for object in [
        // Another length, another content, and the digest of another content.
        "content-length: 22\r\nx-amz-meta-sha256: {sha256}",
        "content-length: 24\r\nx-amz-meta-sha256: 0000",
        "content-length: 24\r\nx-amz-meta-sha256: {sha256}\r\nx-amz-checksum-sha256: AAAA",
    ] {
        let sha256 = crate::storage::files::digest(&files().contents[0].1).to_string();
        let object = object.replace("{sha256}", &sha256);
        let object = format!("HTTP/1.1 200 OK\r\n{object}\r\nconnection: close\r\n\r\n");
        let (endpoint, _) = answering(&[NOT_FOUND, TAKEN_IN, &object]);
        assert_eq!(
            store_summary(&endpoint).await,
            S3Problem::Garbled(summary.clone()),
            "{object}"
        );
    }
}

#[tokio::test]
async fn what_a_store_loses_is_given_to_it_again_some_times() {
    let (endpoint, asked) = answering(&[
        NOT_FOUND, TAKEN_IN, NOT_FOUND, TAKEN_IN, NOT_FOUND, TAKEN_IN, NOT_FOUND,
    ]);
    assert_eq!(
        store_summary(&endpoint).await,
        S3Problem::Lost(SUMMARY_FILE.to_owned())
    );
    assert_eq!(asked.load(Ordering::Relaxed), 7);
}

#[tokio::test]
async fn an_overloaded_store_is_asked_again_and_a_strange_one_is_not() {
    let patience = Patience {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        ..Patience::default()
    };
    let mut told = Vec::new();
    for (answer, attempts) in [
        (
            "HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            3,
        ),
        (
            "HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            3,
        ),
        (
            "HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            1,
        ),
        (
            "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: eu-central-1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            1,
        ),
        (
            "HTTP/1.1 400 Bad\r\nx-amz-bucket-region: eu-west-3\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            1,
        ),
        ("SSH-2.0-OpenSSH_9.6\r\n", 1),
    ] {
        let (endpoint, asked) = answering(&[answer]);
        let store = store_as(&settings(&endpoint), ACCESS_KEY, SECRET_KEY, patience);
        let error = store.check().await.unwrap_err();
        assert_eq!(asked.load(Ordering::Relaxed), attempts, "{error}");
        told.push(error.to_string());
    }
    insta::assert_snapshot!("answers", told.join("\n"));
}

#[tokio::test]
async fn an_expired_token_is_called_so_although_the_first_answer_has_no_text() {
    let text = "<Error><Code>ExpiredToken</Code><Message>s3cret</Message></Error>";
    let expired = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    let bare = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (endpoint, _) = answering(&[bare, &expired]);
    let error = store(&endpoint).check().await.unwrap_err();
    assert_eq!(problem(&error), &S3Problem::ExpiredToken);
}
