//! Streams that are legal, however odd they look.

use reprise_contract::outcome::Tokens;
use reprise_contract::{Outcome, TokenSource};
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, STREAM_HEAD, chunk, content, delta, event, stream, usage};
use reprise_tests::plans::{STREAMED, at, at_concurrency, content as trace, one_by_one, plan, recorded_plan};
use reprise_tests::runs::replay;
use reprise_tests::scripted_server::{ScriptedServer, Step};
use std::time::Duration;

/// The outcome of a single request that is answered with these events; it is to complete.
fn answered(events: &[String]) -> Outcome {
    let server = ScriptedServer::answering(stream(events));
    let run = replay(one_by_one(1, &server.url()));
    run.assert_all_completed();
    run.only().clone()
}

/// A token count and who told it, both of which are to be there.
fn told(tokens: Option<Tokens>) -> (u32, TokenSource) {
    let Tokens { count, source } = tokens.unwrap();
    (count, source)
}

fn by_server(count: u32) -> (u32, TokenSource) {
    (count, TokenSource::ServerUsage)
}

fn by_chunks(count: u32) -> (u32, TokenSource) {
    (count, TokenSource::ChunkCount)
}

#[test]
fn crlf_and_a_missing_space_lose_no_token() {
    for line_end in ["\n", "\r\n", "\r"] {
        for field in ["data: ", "data:"] {
            let legal = |event: String| event.replace("data: ", field).replace('\n', line_end);
            let events = [
                content("a"),
                content("b"),
                usage(r#"{"prompt_tokens":3,"completion_tokens":2}"#),
                DONE.to_owned(),
            ];
            let outcome = answered(&events.map(legal));
            assert_eq!(outcome.output_chunks, 2, "{field:?} {line_end:?}");
            assert_eq!(
                told(outcome.output_tokens),
                by_server(2),
                "{field:?} {line_end:?}"
            );
        }
    }
}

#[test]
fn the_done_marker_needs_no_space_and_no_blank_line() {
    for done in [
        "data:[DONE]\n\n",
        "data: [DONE]\n\n",
        "data:[DONE]\r\n\r\n",
        "data: [DONE]\n",
        "data: [DONE]",
        "data: [DONE] \n\n",
    ] {
        let outcome = answered(&[content("a"), done.to_owned()]);
        assert_eq!(outcome.output_chunks, 1, "{done:?}");
    }
}

/// One request a position, all over one connection after the other; the pause makes two network reads of the two parts.
#[test]
fn an_answer_may_be_split_at_every_byte() {
    let answer = stream(&[
        delta(r#"{"role":"assistant","content":""}"#),
        content("é\n \"quoted\" "),
        "event: message\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" b \"}}]}\r\n\r\n".to_owned(),
        usage(r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#),
        DONE.to_owned(),
    ]);
    let positions = answer.len() - 1;
    let server = ScriptedServer::start(move |request| {
        let (left, right) = answer.split_at(request.index + 1);
        vec![
            Step::write(left),
            Step::Pause(Duration::from_millis(2)),
            Step::write(right),
        ]
    });
    let content = trace(Format::WorkloadTrace, &vec![at(0.0, STREAMED); positions]);
    let schedule = at_concurrency(&content, 8);
    let run = replay(plan(content, schedule, &[server.url()]));
    run.assert_all_completed();
    for outcome in &run.outcomes {
        assert_eq!(
            (outcome.output_chunks, told(outcome.output_tokens)),
            (2, by_server(2)),
            "{outcome:?}"
        );
    }
    assert!(server.used_connections() <= 8);
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    let answer = stream(&[content("a"), content("b"), DONE.to_owned()]);
    let server = ScriptedServer::start(move |_| answer.iter().map(|byte| Step::Write(vec![*byte])).collect());
    let run = replay(one_by_one(2, &server.url()));
    run.assert_all_completed();
    assert!(run.outcomes.iter().all(|outcome| outcome.output_chunks == 2));
}

#[test]
fn several_events_may_share_a_chunk_and_an_event_may_have_several_data_lines() {
    let two_lines = "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"c\"}}]}\n\n".to_owned();
    let outcome = answered(&[[content("a"), content("b"), two_lines].concat() + DONE]);
    assert_eq!((outcome.output_chunks, outcome.gaps.count), (3, 2));
}

#[test]
fn event_types_ids_comments_and_a_byte_order_mark_do_no_harm() {
    let outcome = answered(&[
        "\u{feff}: keep-alive\n\n".to_owned(),
        format!("event: message\nid: 1\nretry: 10\n{}", content("a")),
        ":\n\n".to_owned(),
        "data:\n\n".to_owned(),
        DONE.to_owned(),
    ]);
    assert_eq!(outcome.output_chunks, 1);
}

#[test]
fn spaces_at_the_end_of_a_network_read_are_kept() {
    let server = ScriptedServer::start(|_| {
        let (left, right) = (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a ",
            " b\"}}]}\n\ndata: [DONE]\n\n",
        );
        vec![
            Step::write(STREAM_HEAD),
            Step::write(chunk(left)),
            Step::Pause(Duration::from_millis(5)),
            Step::write(chunk(right)),
            Step::write("0\r\n\r\n"),
        ]
    });
    // The next turn of the conversation shows what was read.
    let turn = r#"{"timestamp":0,"session_id":"s","text_input":"Hi","output_length":4}"#;
    let later = r#"{"session_id":"s","text_input":"And?","output_length":4}"#;
    let run = replay(recorded_plan(
        trace(Format::MooncakeTrace, &[turn, later]),
        &[server.url()],
    ));
    run.assert_all_completed();
    assert!(server.requests()[1].text().contains(r#""content":"a  b""#));
}

#[test]
fn tokens_are_counted_by_usage_when_a_chunk_holds_several() {
    let outcome = answered(&[
        content("one two three four"),
        content(" five six seven eight"),
        content(" nine ten eleven twelve"),
        usage(r#"{"prompt_tokens":5,"completion_tokens":12,"total_tokens":17}"#),
        DONE.to_owned(),
    ]);
    assert_eq!((outcome.output_chunks, outcome.gaps.count), (3, 2));
    assert_eq!(
        (told(outcome.input_tokens), told(outcome.output_tokens)),
        (by_server(5), by_server(12))
    );
}

/// The server waits between chunks, so that their times differ.
#[test]
fn the_first_output_is_reasoning_and_neither_the_role_nor_metadata() {
    let events = [
        event(r#"{"id":"x","object":"chat.completion.chunk","choices":[]}"#),
        delta(r#"{"role":"assistant","content":""}"#),
        delta(r#"{"reasoning_content":"hm"}"#),
        content("a"),
        DONE.to_owned(),
    ];
    let server = ScriptedServer::start(move |_| {
        let mut steps = vec![Step::write(STREAM_HEAD)];
        for event in &events {
            steps.extend([Step::write(chunk(event)), Step::Pause(Duration::from_millis(5))]);
        }
        steps.push(Step::write("0\r\n\r\n"));
        steps
    });
    let run = replay(one_by_one(1, &server.url()));
    run.assert_all_completed();
    let times = &run.only().times;
    let ms = |from: Option<i64>, to: Option<i64>| (to.unwrap() - from.unwrap()) / 1_000_000;
    // The server waited 5 ms after each event before. Reads may be late, but never early.
    assert!(ms(times.sent, times.first_output) >= 10, "{times:?}");
    assert!(ms(times.sent, times.first_content) >= 15, "{times:?}");
    assert_eq!(run.only().output_chunks, 2);
}

#[test]
fn a_tool_call_is_output() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}"#;
    let outcome = answered(&[delta(r#"{"role":"assistant"}"#), delta(call), DONE.to_owned()]);
    assert_eq!(outcome.output_chunks, 1);
    assert_eq!(outcome.times.first_output, outcome.times.first_content);
}

#[test]
fn usage_beside_choices_counts_and_the_last_one_wins() {
    let with_usage = r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":80,"completion_tokens":1}}"#;
    let last = r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":80,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":64}}}"#
        .replace('\n', "");
    let outcome = answered(&[
        event(with_usage),
        event(&last),
        event(r#"{"choices":[],"usage":null}"#),
        DONE.to_owned(),
    ]);
    assert_eq!(
        (told(outcome.input_tokens), told(outcome.output_tokens)),
        (by_server(80), by_server(2))
    );
    assert_eq!((outcome.cached_tokens, outcome.output_chunks), (Some(64), 2));
}

#[test]
fn output_tokens_are_total_minus_prompt_where_usage_has_no_more() {
    let outcome = answered(&[
        content("abcd"),
        usage(r#"{"prompt_tokens":5,"total_tokens":9}"#),
        DONE.to_owned(),
    ]);
    assert_eq!(told(outcome.output_tokens), (4, TokenSource::ServerTotal));
}

#[test]
fn a_usage_without_sense_is_no_usage() {
    for nonsense in [
        r#"{"prompt_tokens":9,"total_tokens":5}"#,
        r#"{"completion_tokens":-1}"#,
        "[]",
        r#""12""#,
    ] {
        let outcome = answered(&[content("a"), usage(nonsense), DONE.to_owned()]);
        assert_eq!(told(outcome.output_tokens), by_chunks(1), "{nonsense}");
    }
}

#[test]
fn an_event_of_two_mebibytes_is_read() {
    let long = "x".repeat(2 << 20);
    let outcome = answered(&[content(&long), DONE.to_owned()]);
    assert_eq!(outcome.output_chunks, 1);
    assert!(outcome.answer_bytes > 2 << 20);
}

#[test]
fn a_finish_reason_ends_a_stream_as_well_as_done() {
    let end = event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#);
    assert_eq!(answered(&[content("a"), end]).output_chunks, 1);
}

#[test]
fn a_stream_may_end_with_the_connection() {
    let server = ScriptedServer::start(|request| {
        let version = if request.index == 0 { "1.0" } else { "1.1" };
        let head = format!("HTTP/{version} 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n");
        vec![Step::write(head + &content("a") + DONE), Step::Close]
    });
    let run = replay(one_by_one(3, &server.url()));
    run.assert_all_completed();
    assert_eq!(server.used_connections(), 3);
}

#[test]
fn trailers_after_a_stream_do_no_harm() {
    let mut answer = stream(&[content("a"), DONE.to_owned()]);
    answer.truncate(answer.len() - 2);
    answer.extend_from_slice(b"x-checksum: 12\r\n\r\n");
    let server = ScriptedServer::answering(answer);
    let run = replay(one_by_one(3, &server.url()));
    run.assert_all_completed();
    assert_eq!(server.used_connections(), 1);
}

#[test]
fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let mut answer = interim.as_bytes().to_vec();
    answer.extend(stream(&[content("a"), DONE.to_owned()]));
    let server = ScriptedServer::answering(answer);
    let run = replay(one_by_one(2, &server.url()));
    run.assert_all_completed();
    assert_eq!(run.outcomes[0].status, Some(200));
}

/// One record of five was recorded with usage switched off; it is sent so, and the run goes on.
#[test]
fn a_record_with_usage_switched_off_has_tokens_by_chunks_and_stops_nothing() {
    let server = ScriptedServer::start(|request| {
        let mut events = vec![content("a"), content("b")];
        if !request.text().contains(r#""include_usage":false"#) {
            events.push(usage(r#"{"prompt_tokens":3,"completion_tokens":7}"#));
        }
        events.push(DONE.to_owned());
        vec![Step::Write(stream(&events))]
    });
    let with = r#"{"messages":[],"stream":true,"stream_options":{"include_usage":true}}"#;
    let without = r#"{"messages":[],"stream":true,"stream_options":{"include_usage":false}}"#;
    let lines = [with, with, without, with, with].map(|body| at(0.0, body));
    let content = trace(Format::WorkloadTrace, &lines);
    let schedule = at_concurrency(&content, 1);
    let run = replay(plan(content, schedule, &[server.url()]));
    run.assert_all_completed();
    let tokens: Vec<_> = run
        .outcomes
        .iter()
        .map(|outcome| told(outcome.output_tokens))
        .collect();
    assert_eq!(
        tokens,
        [
            by_server(7),
            by_server(7),
            by_chunks(2),
            by_server(7),
            by_server(7)
        ]
    );
}

#[test]
fn a_completions_stream_is_read_as_well() {
    let outcome = answered(&[
        event(r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#),
        event(r#"{"choices":[{"index":0,"text":"","finish_reason":"length"}]}"#),
        DONE.to_owned(),
    ]);
    assert_eq!(outcome.output_chunks, 1);
}
