//! The program: its flags, its first line and its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_reprise-mock-endpoint");

#[test]
fn it_serves_until_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("arrivals.jsonl");
    let mut program = Command::new(PROGRAM)
        .args(["--port", "0", "--ttft", "1ms", "--threads", "2", "--log"])
        .arg(&log)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .trim()
        .strip_prefix("mock-endpoint listening on http://")
        .unwrap();

    let mut connection = TcpStream::connect(address).unwrap();
    let body = r#"{"prompt":"a"}"#;
    write!(
        connection,
        "POST /v1/completions HTTP/1.1\r\nhost: m\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");

    let process = rustix::process::Pid::from_child(&program);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(program.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 1);
}

#[test]
fn flags_that_cannot_be_used() {
    for (arguments, reason) in [
        (&["--ttft", "soon"][..], "Cannot use latency \"soon\""),
        (&["--error-rate", "2"], "Cannot use \"2\" as a share"),
        (&["--error-status", "500"], "--error-rate"),
        (&["--capacity", "0"], "--capacity"),
    ] {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn the_help_text() {
    let output = Command::new(PROGRAM).arg("--help").output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}
