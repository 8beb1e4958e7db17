//! What takes patience: time-outs and repeated attempts, with less of it than users have.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use reprise_test_servers::http::{Server, write};

use super::*;
use crate::error::Waiting;
use crate::http::retry::{Retry, retry_after};

const IMPATIENT: Patience = Patience {
    connect: Duration::from_millis(300),
    idle: Duration::from_secs(1),
    retry: Retry {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
    },
};

/// Serves each request by `answer`, which gets its number, from 1.
fn serve(answer: impl Fn(usize, &mut TcpStream) + Send + Sync + 'static) -> (HttpSource, Server) {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_, stream| answer(count.fetch_add(1, Ordering::SeqCst) + 1, stream));
    let source = impatient(&server.url("/trace?sig=SECRET"), IMPATIENT);
    (source, server)
}

fn impatient(url: &str, patience: Patience) -> HttpSource {
    HttpSource::with_patience(http_url(url), &Access::Ambient, None, patience).unwrap()
}

fn wait_for_hang_up(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 16]);
}

#[tokio::test]
async fn a_busy_server_is_asked_three_times() {
    let (source, server) = serve(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 503 Nope SECRET\r\ncontent-length: 6\r\nconnection: close\r\n\r\nSECRET")
            .unwrap();
    });
    let problem = source.look_up().await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the server could not answer (503), asked 3 times. Try again later."
    );
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn the_third_attempt_may_succeed() {
    let (source, _server) = serve(|number, stream| match number {
        1 => stream
            .write_all(b"HTTP/1.1 429 -\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap(),
        2 => {}
        _ => stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            .unwrap(),
    });
    let found = source.look_up().await.unwrap();
    assert_eq!(file_of(&found).size, Some(2));
}

#[tokio::test]
async fn a_server_that_wants_a_long_break_is_not_asked_again() {
    let (source, server) = serve(|_, stream| {
        stream
            .write_all(
                b"HTTP/1.1 429 -\r\nretry-after: 300\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            )
            .unwrap();
    });
    let problem = source.look_up().await.unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the server could not answer (429), asked once. Try again in 300 s."
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let (source, server) = serve(|_, stream| wait_for_hang_up(stream));
    let problem = source.look_up().await.unwrap_err();
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
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_server_that_stops_sending_is_given_up() {
    let (source, server) = serve(|_, stream| {
        write(stream, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
        wait_for_hang_up(stream);
    });
    let problem = source.look_up().await.unwrap_err();
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
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_is_given_up() {
    // A TLS handshake that the server never joins.
    let server = Server::silent();
    let url = server.url("/trace").replace("http://", "https://");
    let source = impatient(
        &url,
        Patience {
            idle: Duration::from_mins(1),
            ..IMPATIENT
        },
    );
    let problem = source.look_up().await.unwrap_err();
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
