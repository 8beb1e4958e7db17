//! Answers that are none, each with its cause, and with all that was seen before.

use std::time::Duration;

use reprise_contract::{Ending, FailureCause, Outcome};
use reprise_tests::answers::{DONE, LAST_CHUNK, STREAM_HEAD, chunk, content, event, json, stream, with_type};
use reprise_tests::plans::one_by_one;
use reprise_tests::runs::{Run, replay};
use reprise_tests::scripted_server::{ScriptedServer, Step};

/// One request to a server that does this when it has read it.
fn met(steps: Vec<Step>) -> Run {
    let server = ScriptedServer::start(move |_| steps.clone());
    replay(one_by_one(1, &server.url()))
}

fn answered(answer: Vec<u8>) -> Run {
    met(vec![Step::Write(answer)])
}

#[track_caller]
fn assert_failed(run: &Run, cause: FailureCause, words: &str) {
    let (failed, error) = run.only_failure();
    assert_eq!(failed, cause, "{error}");
    assert!(error.contains(words), "{error}");
}

fn three_chunks() -> Vec<Step> {
    let chunks = ["a", "b", "c"].map(|text| Step::write(chunk(content(text))));
    [Step::write(STREAM_HEAD)].into_iter().chain(chunks).collect()
}

fn assert_three_chunks_are_kept(outcome: &Outcome) {
    assert_eq!(
        (outcome.output_chunks, outcome.gaps.count, outcome.status),
        (3, 2, Some(200))
    );
    let times = &outcome.times;
    assert!(times.sent.is_some() && times.headers.is_some(), "{times:?}");
    assert!(
        times.first_output.is_some() && times.last_output.is_some(),
        "{times:?}"
    );
}

#[test]
fn a_connection_cut_mid_stream_is_a_failure_that_keeps_what_was_seen() {
    for cut in [Step::Close, Step::Reset] {
        let mut steps = three_chunks();
        // A reset may overtake what is still unread.
        steps.extend([Step::Pause(Duration::from_millis(500)), cut]);
        let run = met(steps);
        assert_eq!(run.only_failure().0, FailureCause::ConnectionClosed);
        assert_three_chunks_are_kept(run.only());
    }
}

#[test]
fn a_stream_that_ends_without_its_end_is_a_failure_that_keeps_what_was_seen() {
    let mut steps = three_chunks();
    steps.push(Step::write(LAST_CHUNK));
    let run = met(steps);
    assert_failed(&run, FailureCause::ConnectionClosed, "without [DONE]");
    assert_three_chunks_are_kept(run.only());
}

#[test]
fn a_connection_cut_inside_an_event_is_closed_and_not_bad_json() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let cut = content("a") + "data: {\"choices\":[{\"delta\":{\"con";
    let run = met(vec![Step::write(head), Step::write(cut), Step::Close]);
    assert_failed(&run, FailureCause::ConnectionClosed, "stream ended");
    assert_eq!(run.only().output_chunks, 1);
}

#[test]
fn an_error_event_inside_a_stream_makes_it_a_failure_with_its_text() {
    for error in [
        "event: error\ndata: {\"error\":{\"message\":\"engine overloaded\",\"code\":503}}\n\n",
        "event: error\ndata: {\"message\":\"engine overloaded\"}\n\n",
        "event: error\ndata: engine overloaded\n\n",
        "data: {\"error\":{\"message\":\"engine overloaded\"}}\n\n",
        "data: {\"error\":\"engine overloaded\",\"error_type\":\"generation\"}\n\n",
        "data: {\"object\":\"error\",\"message\":\"engine overloaded\"}\n\n",
    ] {
        let events = [content("a"), content("b"), error.to_owned(), DONE.to_owned()];
        let run = answered(stream(&events));
        assert_failed(&run, FailureCause::ErrorInAnswer, "engine overloaded");
        assert_eq!(
            (run.only().output_chunks, run.only().status),
            (2, Some(200)),
            "{error}"
        );
    }
}

#[test]
fn an_error_inside_a_good_body_is_a_failure_with_its_text() {
    let run = answered(json("200 OK", r#"{"error":{"message":"no such model"}}"#));
    assert_failed(&run, FailureCause::ErrorInAnswer, "no such model");
}

#[test]
fn a_status_that_is_no_success_is_a_failure_with_the_servers_words() {
    for (status, code) in [
        ("400 Bad Request", 400),
        ("429 Too Many Requests", 429),
        ("503 Service Unavailable", 503),
    ] {
        let run = answered(json(status, r#"{"error":{"message":"prompt is too long"}}"#));
        assert_failed(
            &run,
            FailureCause::HttpStatus,
            &format!("{status}: prompt is too long"),
        );
        assert_eq!(run.only().status, Some(code));
    }
}

#[test]
fn a_status_is_told_also_without_words() {
    let bodies = ["", "<html>Bad Gateway</html>", "{\"error\":null}"];
    for body in bodies {
        let run = answered(with_type("502 Bad Gateway", "text/html", body));
        assert_failed(&run, FailureCause::HttpStatus, "502 Bad Gateway");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let run = answered(
        b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n".to_vec(),
    );
    assert_failed(&run, FailureCause::HttpStatus, "307");
}

#[test]
fn a_page_instead_of_json_is_an_invalid_answer() {
    let run = answered(with_type("200 OK", "text/html", "<html>Welcome to nginx!</html>"));
    assert_failed(&run, FailureCause::InvalidAnswer, "JSON");
    assert_eq!(run.only().status, Some(200));
}

#[test]
fn an_event_that_is_no_json_is_an_invalid_answer() {
    let run = answered(stream(&[content("a"), event("oops"), DONE.to_owned()]));
    assert_failed(&run, FailureCause::InvalidAnswer, "JSON");
    assert_eq!(run.only().output_chunks, 1);
}

#[test]
fn an_empty_success_is_an_invalid_answer() {
    let run = answered(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    assert_failed(&run, FailureCause::InvalidAnswer, "JSON");
}

/// The body is `gzip` of an empty text.
#[test]
fn a_compressed_answer_that_nobody_asked_for_is_told_as_such() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for content_type in ["text/event-stream", "application/json"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            gzip.len()
        );
        let server = ScriptedServer::start(move |_| vec![Step::write([head.as_bytes(), &gzip].concat())]);
        let run = replay(one_by_one(1, &server.url()));
        assert_failed(&run, FailureCause::InvalidAnswer, "gzip");
        assert_eq!(server.requests()[0].header("accept-encoding"), None);
    }
}

#[test]
fn an_encoding_of_identity_is_none() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n".to_vec();
    answer.extend_from_slice(&stream(&[content("a"), DONE.to_owned()])["HTTP/1.1 200 OK\r\n".len()..]);
    answered(answer).assert_all_completed();
}

#[test]
fn what_is_no_http_is_an_invalid_answer() {
    let not_http = [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    ];
    for words in not_http {
        let run = answered(words.as_bytes().to_vec());
        assert_eq!(run.only_failure().0, FailureCause::InvalidAnswer, "{words}");
    }
}

#[test]
fn a_chunk_without_a_size_is_an_invalid_answer() {
    let run = met(vec![
        Step::write(STREAM_HEAD),
        Step::write(chunk(content("a"))),
        Step::write("zz\r\n"),
    ]);
    assert_eq!(
        run.only_failure().0,
        FailureCause::InvalidAnswer,
        "{:?}",
        run.only()
    );
    assert_eq!(run.only().output_chunks, 1);
}

#[test]
fn a_body_shorter_than_announced_is_a_closed_connection() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{}";
    let run = met(vec![Step::write(head), Step::Close]);
    assert_eq!(run.only_failure().0, FailureCause::ConnectionClosed);
}

#[test]
fn a_head_without_end_is_an_invalid_answer() {
    let endless = format!("HTTP/1.1 200 OK\r\nx-long: {}", "x".repeat(4 << 20));
    let run = met(vec![Step::write(endless), Step::Stall]);
    assert_eq!(
        run.only_failure().0,
        FailureCause::InvalidAnswer,
        "{:?}",
        run.only()
    );
}

#[test]
fn a_long_head_is_read() {
    let long = format!("HTTP/1.1 200 OK\r\nx-long: {}\r\n", "x".repeat(64 << 10));
    let mut answer = long.into_bytes();
    answer.extend_from_slice(&stream(&[content("a"), DONE.to_owned()])["HTTP/1.1 200 OK\r\n".len()..]);
    answered(answer).assert_all_completed();
}

fn met_impatiently(steps: Vec<Step>) -> Run {
    let server = ScriptedServer::start(move |_| steps.clone());
    let mut plan = one_by_one(1, &server.url());
    plan.timeout = Duration::from_millis(300);
    replay(plan)
}

#[test]
fn a_server_that_never_answers_is_a_timeout_of_a_request_that_was_sent() {
    let run = met_impatiently(vec![Step::Stall]);
    assert_failed(&run, FailureCause::Timeout, "300ms");
    let times = &run.only().times;
    assert!(times.sent.is_some(), "{times:?}");
    assert_eq!((times.headers, run.only().status), (None, None));
    assert!(
        times.done.unwrap() - times.sent.unwrap() >= 250_000_000,
        "{times:?}"
    );
}

#[test]
fn a_stream_that_stalls_is_a_timeout_that_keeps_what_was_seen() {
    let mut steps = three_chunks();
    steps.push(Step::Stall);
    let run = met_impatiently(steps);
    assert_failed(&run, FailureCause::Timeout, "target.timeout");
    assert_three_chunks_are_kept(run.only());
}

#[test]
fn after_the_head_nothing_is_a_timeout_with_a_status() {
    let run = met_impatiently(vec![Step::write(STREAM_HEAD), Step::Stall]);
    assert_failed(&run, FailureCause::Timeout, "target.timeout");
    assert_eq!(
        (run.only().status, run.only().times.first_chunk),
        (Some(200), None)
    );
    assert!(run.only().times.headers.is_some());
}

#[test]
fn a_failure_is_one_of_its_request_only() {
    let server = ScriptedServer::start(|request| match request.index % 4 {
        1 => vec![Step::Reset],
        2 => vec![Step::write(json("500 Internal Server Error", "{}"))],
        3 => vec![Step::write(stream(&[event("oops")]))],
        _ => vec![Step::write(stream(&[content("a"), DONE.to_owned()]))],
    });
    let run = replay(one_by_one(8, &server.url()));
    let cycle = [
        Ending::Completed,
        Ending::Failed(FailureCause::ConnectionClosed),
        Ending::Failed(FailureCause::HttpStatus),
        Ending::Failed(FailureCause::InvalidAnswer),
    ];
    assert_eq!(run.endings(), [cycle, cycle].concat());
    assert_eq!(server.requests().len(), 8, "no request is tried again");
}
