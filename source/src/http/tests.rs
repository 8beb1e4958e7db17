//! What takes patience: time-outs and repeated attempts, with less of it than users have.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::Reference;
use crate::reference::Place;

const IMPATIENT: Patience = Patience {
    connect: Duration::from_millis(300),
    idle: Duration::from_secs(1),
    retry: Retry {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
    },
};

/// Serves each connection by `answer`, which gets its number, from 1. Returns the source and the number of connections.
fn serve(answer: impl Fn(usize, &mut TcpStream) + Send + Sync + 'static) -> (HttpSource, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/trace?sig=SECRET", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).unwrap();
                answer(number, &mut stream);
            });
        }
    });
    (source(&url), count)
}

fn source(url: &str) -> HttpSource {
    let reference = Reference::parse(url).unwrap();
    let Place::Http(url) = reference.place() else {
        panic!("not HTTP")
    };
    HttpSource {
        url: url.clone(),
        patience: IMPATIENT,
    }
}

fn wait_for_hang_up(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 16]);
}

#[tokio::test]
async fn a_busy_server_is_asked_three_times() {
    let (source, count) = serve(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 503 Nope SECRET\r\ncontent-length: 6\r\nconnection: close\r\n\r\nSECRET")
            .unwrap();
    });
    let problem = source.open().await.err().unwrap();
    assert_eq!(
        problem.to_string(),
        "the server could not answer (503), asked 3 times. Try again later."
    );
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn the_third_attempt_may_succeed() {
    let (source, _) = serve(|number, stream| match number {
        1 => stream
            .write_all(b"HTTP/1.1 429 -\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap(),
        2 => {}
        _ => stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .unwrap(),
    });
    let mut bytes = source.open().await.unwrap();
    assert_eq!(bytes.next().await.unwrap().unwrap(), "ok");
    assert!(bytes.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_server_that_wants_a_long_break_is_not_asked_again() {
    let (source, count) = serve(|_, stream| {
        stream
            .write_all(
                b"HTTP/1.1 429 -\r\nretry-after: 300\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            )
            .unwrap();
    });
    let problem = source.open().await.err().unwrap();
    assert_eq!(
        problem.to_string(),
        "the server could not answer (429), asked once. Try again in 300 s."
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let (source, count) = serve(|_, stream| wait_for_hang_up(stream));
    let problem = source.open().await.err().unwrap();
    assert!(
        matches!(
            problem,
            Problem::Timeout {
                waiting: Waiting::Answer,
                ..
            }
        ),
        "{problem}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_server_that_stops_sending_is_given_up() {
    let (source, _) = serve(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")
            .unwrap();
        wait_for_hang_up(stream);
    });
    let mut bytes = source.open().await.unwrap();
    assert_eq!(bytes.next().await.unwrap().unwrap(), "abc");
    let problem = bytes.next().await.err().unwrap();
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
async fn a_connection_that_does_not_come_about_is_given_up() {
    // A TLS handshake that the server never joins.
    let (http, _) = serve(|_, stream| wait_for_hang_up(stream));
    let url = http
        .url
        .with_credentials()
        .as_str()
        .replace("http://", "https://");
    let mut source = source(&url);
    source.patience.idle = Duration::from_mins(1);
    let problem = source.open().await.err().unwrap();
    assert!(
        matches!(
            problem,
            Problem::Timeout {
                waiting: Waiting::Connection,
                ..
            }
        ),
        "{problem}"
    );
}

#[test]
fn pauses_grow_and_respect_the_server() {
    let retry = Retry::default();
    let seconds = Duration::from_secs;
    assert_eq!(retry.pause(1, None), Some(Duration::from_millis(500)));
    assert_eq!(retry.pause(2, None), Some(seconds(2)));
    assert_eq!(retry.pause(3, None), None);
    assert_eq!(retry.pause(1, Some(seconds(7))), Some(seconds(7)));
    assert_eq!(retry.pause(2, Some(seconds(0))), Some(seconds(2)));
    assert_eq!(retry.pause(1, Some(seconds(61))), None);
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now: Timestamp = "2026-08-01T12:00:00Z".parse().unwrap();
    let of = |value: &str| {
        let mut headers = http::HeaderMap::new();
        headers.insert("retry-after", value.parse().unwrap());
        retry_after(&headers, now)
    };
    assert_eq!(of("7"), Some(Duration::from_secs(7)));
    assert_eq!(of("Sat, 01 Aug 2026 12:00:30 GMT"), Some(Duration::from_secs(30)));
    assert_eq!(of("Sat, 01 Aug 2026 11:00:00 GMT"), None);
    assert_eq!(of("0"), None);
    assert_eq!(of("-1"), None);
    assert_eq!(of("soon"), None);
}
