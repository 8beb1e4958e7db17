//! What only HTTP has: requests as they are sent, answers that are not the file, redirects, proxies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::env;
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use reprise_source::{Problem, open};
use support::{Server, parse, read, refusal, write};

/// Refusals must not show what was sent or received.
fn refusal_of(answer: &str) -> String {
    let server = Server::answering(answer);
    let refusal = refusal(&parse(&server.url("/trace.jsonl?sig=SECRET")));
    assert!(!refusal.contains("SECRET"), "{refusal}");
    refusal.split_once("sig=<redacted>: ").unwrap().1.to_owned()
}

#[test]
fn a_presigned_url_arrives_byte_for_byte_and_only_by_get() {
    // A server that allows nothing but the GET that was signed.
    let target = "/b/chat%2Daugust.jsonl?response-content-disposition=attachment%3b%20filename%3Dx&b=2&a=1&&X-Amz-Signature=0aF%2f+~";
    let server = Server::start(move |request, stream| {
        let signed = request.method == "GET" && request.target == target && !request.has_header("range");
        write(
            stream,
            if signed {
                "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}\n"
            } else {
                "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"
            },
        );
    });
    assert_eq!(read(&parse(&server.url(target))).unwrap().0, b"{}\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert!(
        requests[0]
            .head
            .to_ascii_lowercase()
            .contains(&format!("user-agent: reprise/{}", env!("CARGO_PKG_VERSION")))
    );
    assert!(
        requests[0]
            .head
            .to_ascii_lowercase()
            .contains("accept-encoding: identity")
    );
}

#[test]
fn answers_that_are_no_file_are_told_apart() {
    let answer = |status: &str, headers: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}content-length: 6\r\nconnection: close\r\n\r\nSECRET")
    };
    let refusals: Vec<_> = [
        answer("401 SECRET", ""),
        answer("403 SECRET", ""),
        answer("404 SECRET", ""),
        answer("410 Gone", ""),
        answer("400 -", ""),
        answer("204 -", ""),
        answer("206 -", "content-range: bytes 0-5/100\r\n"),
        answer("304 -", ""),
        answer("418 -", ""),
        answer("429 -", "retry-after: 3600\r\n"),
        answer("500 -", "retry-after: 0\r\n"),
        answer("200 OK", "content-encoding: SECRET\r\n"),
        answer("302 -", "location: ftp://SECRET/\r\n"),
        answer("302 -", "location: /again?SECRET\r\n"),
        answer("301 -", "location: SECRET/\r\n"),
    ]
    .iter()
    .map(|answer| refusal_of(answer))
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn an_expired_presigned_url_says_so() {
    let server = Server::answering("HTTP/1.1 403 -\r\ncontent-length: 0\r\n\r\n");
    let expired = server.url("/x?X-Amz-Date=20200101T000000Z&X-Amz-Expires=3600&X-Amz-Signature=SECRET");
    let message = refusal(&parse(&expired));
    assert!(
        message.contains(
            "denied access (403), and the URL expired at 2020-01-01T01:00:00Z. Generate a new one."
        ),
        "{message}"
    );
    assert!(!message.contains("SECRET"));
    let alive = server.url("/x?se=2199-01-01T00:00:00Z&sig=SECRET");
    assert!(matches!(
        open(&parse(&alive)).unwrap_err().problem(),
        Problem::AccessDenied(_)
    ));
}

#[test]
fn a_body_that_is_cut_is_an_error() {
    for (head, what) in [
        ("content-length: 100", "after 6 of 100 bytes"),
        ("transfer-encoding: chunked", "after 3 bytes"),
    ] {
        let server = Server::answering(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n3\r\nabc"));
        let refusal = refusal(&parse(&server.url("/x")));
        assert!(refusal.contains(what), "{refusal}");
    }
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let server = Server::answering("HTTP/1.0 200 OK\r\n\r\nabc");
    let trace = open(&parse(&server.url("/x"))).unwrap();
    assert_eq!(trace.progress().total(), None);
    assert_eq!(trace.finish().unwrap().bytes, 3);
}

#[test]
fn a_body_longer_than_its_length_ends_there() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdef");
    assert_eq!(read(&parse(&server.url("/x"))).unwrap().0, b"abc");
}

#[test]
fn redirects_are_followed_without_credentials() {
    let file = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc");
    let location = file.url("/file?sig=other");
    let front = Server::start(move |_, stream| {
        write(
            stream,
            &format!(
                "HTTP/1.1 302 -\r\nlocation: {location}\r\nset-cookie: a=SECRET\r\ncontent-length: 0\r\n\r\n"
            ),
        );
    });
    let url = front
        .url("/x?sig=SECRET")
        .replace("http://", "http://user:SECRET@");
    assert_eq!(read(&parse(&url)).unwrap().0, b"abc");
    assert!(front.requests()[0].has_header("authorization"));
    let there = &file.requests()[0];
    assert_eq!(there.target, "/file?sig=other");
    for name in ["authorization", "referer", "cookie"] {
        assert!(!there.has_header(name), "{}", there.head);
    }
}

#[test]
fn ten_redirects_are_followed_and_no_more() {
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
    assert_eq!(read(&parse(&server.url("/10"))).unwrap().0, b"ok");
    assert!(refusal(&parse(&server.url("/11"))).contains("redirects in a circle"));
}

#[test]
fn failures_to_connect_are_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = open(&parse(&format!("http://{free}/x?sig=SECRET"))).unwrap_err();
    assert!(matches!(refused.problem(), Problem::Refused), "{refused:?}");

    let unknown = open(&parse("http://no-such-host.invalid/x?sig=SECRET")).unwrap_err();
    assert!(matches!(unknown.problem(), Problem::HostNotFound), "{unknown:?}");

    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = format!("https://{}/x?sig=SECRET", plain.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        write(&mut stream, "HTTP/1.1 400 SECRET\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let tls = open(&parse(&tls)).unwrap_err();
    assert!(matches!(tls.problem(), Problem::Tls(_)), "{tls:?}");
    assert!(tls.to_string().contains("does not speak TLS"), "{tls}");

    let silent = Server::answering("");
    let broken = open(&parse(&silent.url("/x?sig=SECRET"))).unwrap_err();
    assert!(matches!(broken.problem(), Problem::Connection(_)), "{broken:?}");
    let garbage = Server::answering("SECRET\r\n\r\n");
    let garbled = open(&parse(&garbage.url("/x?sig=SECRET"))).unwrap_err();
    assert!(matches!(garbled.problem(), Problem::Connection(_)), "{garbled:?}");

    for error in [refused, unknown, tls, broken, garbled] {
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
        assert!(error.to_string().starts_with("Cannot use http"), "{error}");
    }
}

/// Proxy variables hold for a process, so each case is one.
fn read_in_child(url: &str, proxy: &str) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child_that_reads", "--ignored", "--nocapture"])
        .env("REPRISE_TEST_URL", url)
        .env("http_proxy", proxy)
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "run by the proxy tests, with variables of its own"]
fn child_that_reads() {
    let url = env::var("REPRISE_TEST_URL").unwrap();
    let mut text = String::new();
    match open(&parse(&url)) {
        Ok(mut trace) => drop(trace.read_to_string(&mut text)),
        Err(error) => text = error.to_string(),
    }
    println!("read: {text}");
}

#[test]
fn proxy_variables_are_honoured() {
    let proxy = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nvia proxy");
    let output = read_in_child("http://no-such-host.invalid/x", &proxy.url(""));
    assert!(output.contains("read: via proxy"), "{output}");
    assert_eq!(proxy.requests()[0].target, "http://no-such-host.invalid/x");
}

#[test]
fn this_machine_is_reached_without_a_proxy() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ndirect");
    let proxy = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nvia proxy");
    let output = read_in_child(&server.url("/x"), &proxy.url(""));
    assert!(output.contains("read: direct"), "{output}");
    assert!(proxy.requests().is_empty());
}
