//! Answers that are not the file, redirects, failures to connect and proxies.

use std::env;
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use reprise_test_servers::http::{Server, write};

use super::*;
use crate::error::SourceError;

/// As people see it.
async fn refusal(url: &str) -> String {
    let problem = source(url).look_up().await.unwrap_err();
    shown(url, problem)
}

/// Refusals must not show what was sent or received.
fn shown(url: &str, problem: Problem) -> String {
    let error = SourceError::new(Reference::parse(url).unwrap(), problem);
    assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn requests_say_who_asks_and_take_no_encoding() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}\n");
    source(&server.url("/x")).look_up().await.unwrap();
    let request = &server.requests()[0];
    let agent = format!("reprise/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(request.header("user-agent"), Some(agent.as_str()));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn answers_that_are_no_file_are_told_apart() {
    let answer = |status: &str, headers: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}content-length: 6\r\nconnection: close\r\n\r\nSECRET")
    };
    let mut refusals = Vec::new();
    for answer in [
        answer("401 SECRET", ""),
        answer("403 SECRET", ""),
        answer("404 SECRET", ""),
        answer("410 Gone", ""),
        answer("400 -", ""),
        answer("204 -", ""),
        answer("206 -", "content-range: bytes 7-12/100\r\n"),
        answer("304 -", ""),
        answer("416 -", ""),
        answer("418 -", ""),
        answer("429 -", "retry-after: 3600\r\n"),
        answer("500 -", "retry-after: 0\r\n"),
        answer("200 OK", "content-encoding: SECRET\r\n"),
        answer("302 -", "location: ftp://SECRET/\r\n"),
        answer("302 -", "location: /again?SECRET\r\n"),
        answer("301 -", "location: SECRET/\r\n"),
    ] {
        let server = Server::answering(answer);
        let refusal = refusal(&server.url("/trace.jsonl?sig=SECRET")).await;
        refusals.push(refusal.split_once("sig=<redacted>: ").unwrap().1.to_owned());
    }
    insta::assert_snapshot!(refusals.join("\n"));
}

#[tokio::test]
async fn an_expired_presigned_url_says_so() {
    let server = Server::answering("HTTP/1.1 403 -\r\ncontent-length: 0\r\n\r\n");
    let expired = server.url("/x?X-Amz-Date=20200101T000000Z&X-Amz-Expires=3600&X-Amz-Signature=SECRET");
    let message = refusal(&expired).await;
    assert!(
        message.contains(
            "denied access (403), and the URL expired at 2020-01-01T01:00:00Z. Generate a new one."
        ),
        "{message}"
    );
    let alive = server.url("/x?se=2199-01-01T00:00:00Z&sig=SECRET");
    let problem = source(&alive).look_up().await.unwrap_err();
    assert!(matches!(problem, Problem::AccessDenied(_)), "{problem:?}");
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_the_connection() {
    let server = Server::answering("HTTP/1.0 200 OK\r\n\r\nabc");
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(read(&source, &found, Span::WHOLE).await.unwrap(), b"abc");
}

#[tokio::test]
async fn a_body_longer_than_its_length_ends_there() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdef");
    let source = source(&server.url("/x"));
    let found = source.look_up().await.unwrap();
    assert_eq!(read(&source, &found, Span::WHOLE).await.unwrap(), b"abc");
}

#[tokio::test]
async fn ten_redirects_are_followed_and_no_more() {
    let server = Server::start(|request, stream| {
        let left: u32 = request.target[1..].parse().unwrap();
        write(
            stream,
            &match left {
                0 => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(),
                left => format!(
                    "HTTP/1.1 307 -\r\nlocation: /{}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                    left - 1
                ),
            },
        );
    });
    source(&server.url("/10")).look_up().await.unwrap();
    let refusal = refusal(&server.url("/11")).await;
    assert!(refusal.contains("redirects in a circle"), "{refusal}");
}

#[tokio::test]
async fn failures_to_connect_are_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = format!("https://{}/x?sig=SECRET", plain.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        write(&mut stream, "HTTP/1.1 400 SECRET\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let silent = Server::answering("");
    let garbage = Server::answering("SECRET\r\n\r\n");
    for (url, part) in [
        (
            format!("http://{free}/x?sig=SECRET"),
            "the connection was refused",
        ),
        (
            "http://no-such-host.invalid/x?sig=SECRET".to_owned(),
            "its host was not found",
        ),
        (tls, "does not speak TLS"),
        (silent.url("/x?sig=SECRET"), "the connection failed ("),
        (garbage.url("/x?sig=SECRET"), "the connection failed ("),
    ] {
        let refusal = refusal(&url).await;
        assert!(
            refusal.starts_with("Cannot use http") && refusal.contains(part),
            "{refusal}"
        );
    }
}

/// Proxy variables hold for a process, so each case is one.
fn look_up_in_child(url: &str, proxy: &str) {
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "http::tests::answers::child_that_looks_up",
            "--ignored",
        ])
        .env("REPRISE_TEST_URL", url)
        .env("http_proxy", proxy)
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[tokio::test]
#[ignore = "run by the proxy tests, with variables of its own"]
async fn child_that_looks_up() {
    source(&env::var("REPRISE_TEST_URL").unwrap())
        .look_up()
        .await
        .unwrap();
}

#[test]
fn proxy_variables_are_honoured() {
    let proxy = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nvia proxy");
    look_up_in_child("http://no-such-host.invalid/x", &proxy.url(""));
    assert_eq!(proxy.requests()[0].target, "http://no-such-host.invalid/x");
}

#[test]
fn this_machine_is_reached_without_a_proxy() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ndirect");
    let proxy = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nvia proxy");
    look_up_in_child(&server.url("/x"), &proxy.url(""));
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}
