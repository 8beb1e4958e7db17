//! What arrives at the server: bodies and headers.

use reprise_contract::Ending;
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, content as output, stream};
use reprise_tests::plans::{STREAMED, at, content, recorded_plan};
use reprise_tests::runs::{Run, replay};
use reprise_tests::scripted_server::ScriptedServer;
use reprise_worker::{Plan, RequestHeaders};

use crate::mock;

/// Replays one record with what `change` makes of the plan; gives back the body that arrived.
fn arrived(line: &str, change: impl FnOnce(&mut Plan)) -> (String, Run) {
    let endpoint = mock::start();
    let mut plan = recorded_plan(content(Format::WorkloadTrace, &[line]), &[endpoint.url()]);
    change(&mut plan);
    let run = replay(plan);
    (mock::texts(&endpoint).remove(0), run)
}

#[test]
fn a_recorded_body_arrives_byte_for_byte() {
    let body = r#"{ "temperature": 0.9, "messages":[{"role":"user","content":"h\u00e9 é"}],"top_p": 1.0,"max_tokens":3 }"#;
    let (text, run) = arrived(&at(0.0, body), |_| {});
    run.assert_all_completed();
    assert_eq!(text, body);
    assert_eq!(run.only().request_bytes, body.len() as u64);
}

#[test]
fn matching_the_length_writes_the_key_that_the_body_uses() {
    for (recorded, sent) in [
        (
            r#""max_completion_tokens":9"#,
            r#""max_completion_tokens":5,"ignore_eos":true"#,
        ),
        (r#""max_tokens":9"#, r#""max_tokens":5,"ignore_eos":true"#),
        (r#""top_p":1"#, r#""top_p":1,"max_tokens":5,"ignore_eos":true"#),
    ] {
        let line = format!(r#"{{"timestamp":0,"completion_tokens":5,"body":{{"messages":[],{recorded}}}}}"#);
        let (text, run) = arrived(&line, |plan| plan.template.match_output_length = true);
        run.assert_all_completed();
        assert_eq!(text, format!(r#"{{"messages":[],{sent}}}"#));
        assert_eq!(run.only().requested_output_tokens, Some(5));
        assert_eq!(run.only().output_tokens.unwrap().count, 5);
    }
}

#[test]
fn recorded_credentials_stay_at_home() {
    let endpoint = mock::start();
    let headers = r#"{"Authorization":"Bearer recorded","Cookie":"session=1","X-Tag":"exp","x-order":"b"}"#;
    let line = format!(r#"{{"timestamp":0,"headers":{headers},"body":{STREAMED}}}"#);
    let mut plan = recorded_plan(content(Format::WorkloadTrace, &[line]), &[endpoint.url()]);
    plan.headers = RequestHeaders::new([("X-Order", "a")]).unwrap();
    replay(plan).assert_all_completed();
    let arrived = mock::arrivals(&endpoint).remove(0).headers;
    let expected =
        [("x-tag", "exp"), ("x-order", "a")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(arrived, expected);
}

#[test]
fn credentials_of_the_target_reach_every_request() {
    let endpoint = mock::start();
    let lines = vec![at(0.0, STREAMED); 3];
    let mut plan = recorded_plan(content(Format::WorkloadTrace, &lines), &[endpoint.url()]);
    plan.headers = RequestHeaders::new([("Authorization", "Bearer given")]).unwrap();
    replay(plan).assert_all_completed();
    let expected = [("authorization".to_owned(), "Bearer given".to_owned())];
    assert!(
        mock::arrivals(&endpoint)
            .iter()
            .all(|arrival| arrival.headers == expected)
    );
}

#[test]
fn a_request_has_the_headers_that_http_needs_and_asks_for_no_compression() {
    let server = ScriptedServer::answering(stream(&[output("a"), DONE.to_owned()]));
    let run = replay(recorded_plan(
        content(Format::WorkloadTrace, &[at(0.0, STREAMED)]),
        &[server.url()],
    ));
    assert_eq!(run.endings(), [Ending::Completed]);
    let request = server.requests().remove(0);
    assert!(
        request.head.starts_with("POST /v1/chat/completions HTTP/1.1"),
        "{}",
        request.head
    );
    assert_eq!(
        request.header("host").unwrap(),
        format!("127.0.0.1:{}", server.port())
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("content-length").unwrap(),
        STREAMED.len().to_string()
    );
    assert_eq!(
        (
            request.header("accept-encoding"),
            request.header("transfer-encoding")
        ),
        (None, None)
    );
    assert!(request.header("user-agent").unwrap().starts_with("reprise/"));
}

#[test]
fn a_path_and_a_query_of_the_target_are_used_as_they_are() {
    let server = ScriptedServer::answering(stream(&[output("a"), DONE.to_owned()]));
    let url = format!("{}/tenant/v2/chat?api-version=2&x=%2F", server.url());
    replay(recorded_plan(
        content(Format::WorkloadTrace, &[at(0.0, STREAMED)]),
        &[url],
    ))
    .assert_all_completed();
    assert!(
        server.requests()[0]
            .head
            .starts_with("POST /tenant/v2/chat?api-version=2&x=%2F HTTP/1.1")
    );
}
