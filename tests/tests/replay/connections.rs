//! Connections: kept, closed, refused.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::time::Duration;

use reprise_contract::{Ending, FailureCause, Outcome};
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, chat_completion, content as output, json, stream};
use reprise_tests::plans::{STREAMED, at, burst, content, one_by_one, recorded_plan};
use reprise_tests::runs::replay;
use reprise_tests::scripted_server::{ScriptedServer, Step};

fn good() -> Vec<u8> {
    stream(&[output("a"), DONE.to_owned()])
}

#[test]
fn requests_one_after_the_other_share_one_connection() {
    for answer in [good(), chat_completion("hi")] {
        let server = ScriptedServer::answering(answer);
        let run = replay(one_by_one(20, &server.url()));
        run.assert_all_completed();
        assert_eq!((server.used_connections(), server.requests().len()), (1, 20));
        assert!(
            run.outcomes
                .iter()
                .skip(1)
                .all(|outcome| outcome.connect_ns.is_none())
        );
    }
}

#[test]
fn an_error_status_does_not_cost_a_connection() {
    let server = ScriptedServer::answering(json("429 Too Many Requests", r#"{"error":"slow down"}"#));
    let run = replay(one_by_one(10, &server.url()));
    assert_eq!(run.count(Ending::Failed(FailureCause::HttpStatus)), 10);
    assert_eq!((server.used_connections(), server.requests().len()), (1, 10));
}

#[test]
fn a_server_that_says_close_gets_a_new_connection_each_time() {
    let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n".to_vec();
    let answer = [answer, good()["HTTP/1.1 200 OK\r\n".len()..].to_vec()].concat();
    let server = ScriptedServer::start(move |_| vec![Step::Write(answer.clone()), Step::Close]);
    let run = replay(one_by_one(10, &server.url()));
    run.assert_all_completed();
    assert_eq!(server.used_connections(), 10);
}

/// Closed long before the next request, which therefore must not meet the closing.
#[test]
fn an_idle_connection_that_the_server_closed_is_not_used_again() {
    for farewell in [Step::Close, Step::Reset] {
        let server = ScriptedServer::start(move |_| vec![Step::Write(good()), farewell.clone()]);
        let lines = [0.0, 0.3, 0.6, 0.9].map(|time| at(time, STREAMED));
        let run = replay(recorded_plan(
            content(Format::WorkloadTrace, &lines),
            &[server.url()],
        ));
        run.assert_all_completed();
        assert_eq!(server.used_connections(), 4);
    }
}

#[test]
fn bytes_after_an_answer_are_no_answer_to_the_next_request() {
    let server = ScriptedServer::start(|request| {
        let text = request.index.to_string();
        vec![Step::Write(
            [chat_completion(&text), chat_completion("stray")].concat(),
        )]
    });
    let lines = [0.0, 0.3, 0.6].map(|time| at(time, STREAMED));
    let run = replay(recorded_plan(
        content(Format::WorkloadTrace, &lines),
        &[server.url()],
    ));
    run.assert_all_completed();
    assert_eq!(server.used_connections(), 3);
}

#[test]
fn connections_are_opened_before_the_first_requests_are_due() {
    let server = ScriptedServer::answering(good());
    let run = replay(recorded_plan(burst(8), &[server.url()]));
    run.assert_all_completed();
    assert_eq!((server.connections(), server.used_connections()), (8, 8));
    assert!(run.outcomes.iter().all(|outcome| outcome.connect_ns.is_none()));
}

#[test]
fn a_server_that_closes_at_once_is_a_closed_connection_for_each_request() {
    for steps in [vec![], vec![Step::Reset]] {
        let server = ScriptedServer::greeting(steps);
        let run = replay(one_by_one(5, &server.url()));
        assert_eq!(
            run.count(Ending::Failed(FailureCause::ConnectionClosed)),
            5,
            "{:?}",
            run.outcomes
        );
    }
}

#[test]
fn a_server_that_closes_when_it_has_the_request_is_a_closed_connection() {
    for farewell in [Step::Close, Step::Reset] {
        let server = ScriptedServer::start(move |_| vec![farewell.clone()]);
        let run = replay(one_by_one(5, &server.url()));
        assert_eq!(run.count(Ending::Failed(FailureCause::ConnectionClosed)), 5);
        assert!(run.outcomes.iter().all(Outcome::was_sent));
        assert_eq!(server.requests().len(), 5, "no request is tried again");
    }
}

#[test]
fn a_port_that_refuses_is_told_for_each_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let run = replay(recorded_plan(burst(20), &[url]));
    assert_eq!(run.count(Ending::Failed(FailureCause::ConnectionRefused)), 20);
    assert!(
        run.outcomes
            .iter()
            .all(|outcome| outcome.request_bytes > 0 && !outcome.was_sent())
    );
}

#[test]
fn a_name_that_nobody_knows_is_told_for_each_request() {
    let mut plan = recorded_plan(burst(5), &["http://nonexistent.invalid:8000"]);
    plan.threads = NonZeroUsize::new(2).unwrap();
    let run = replay(plan);
    assert_eq!(
        run.count(Ending::Failed(FailureCause::Dns)),
        5,
        "{:?}",
        run.outcomes
    );
}

/// A large body that the server does not want to read to its end.
#[test]
fn an_early_refusal_of_a_large_body_is_heard() {
    let server = ScriptedServer::greeting(vec![
        Step::Pause(Duration::from_millis(200)),
        Step::write(json("413 Payload Too Large", r#"{"error":"too much"}"#)),
        Step::Stall,
    ]);
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(8 << 20)
    );
    let lines = [at(0.0, &body)];
    let run = replay(recorded_plan(
        content(Format::WorkloadTrace, &lines),
        &[server.url()],
    ));
    let (cause, error) = run.only_failure();
    assert_eq!(cause, FailureCause::HttpStatus, "{error}");
    assert!(error.contains("413") && error.contains("too much"), "{error}");
}
