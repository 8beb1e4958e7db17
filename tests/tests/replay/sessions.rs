//! Conversations: one turn after the other, with live answers or as recorded.

use std::num::NonZeroUsize;

use reprise_content::template::Api;
use reprise_contract::{Ending, FailureCause, NotSentReason};
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, chat_completion, content as output, delta, event, json, stream};
use reprise_tests::plans::{at_concurrency, content, plan, recorded_plan};
use reprise_tests::runs::{Run, replay};
use reprise_tests::scripted_server::{ScriptedServer, Step};
use reprise_worker::Target;
use serde_json::{Value, json};

use crate::mock;

const MISSING: Ending = Ending::NotSent(NotSentReason::AnswerMissing);
const STATUS: Ending = Ending::Failed(FailureCause::HttpStatus);

/// Turns of one conversation, all due at once, each after the answer to the one before it.
fn chat(texts: &[&str]) -> Vec<String> {
    let first = json!({"timestamp": 0, "session_id": "s", "text_input": texts[0], "output_length": 4});
    let later = texts[1..]
        .iter()
        .map(|text| json!({"session_id": "s", "text_input": text, "output_length": 4}));
    [first]
        .into_iter()
        .chain(later)
        .map(|line| line.to_string())
        .collect()
}

fn replay_trace(lines: &[String], server: &ScriptedServer) -> Run {
    replay(recorded_plan(
        content(Format::MooncakeTrace, lines),
        &[server.url()],
    ))
}

fn messages(server: &ScriptedServer, request: usize) -> Value {
    let body: Value = serde_json::from_slice(&server.requests()[request].body).unwrap();
    body["messages"].clone()
}

#[test]
fn a_turn_goes_after_the_answer_to_the_one_before_it() {
    let endpoint = mock::start_slow("30ms", "5ms");
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &chat(&["a", "b", "c", "d"])),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    for turns in run.outcomes.windows(2) {
        assert!(turns[1].times.due >= turns[0].times.done, "{turns:?}");
    }
    let turns: Vec<_> = run
        .outcomes
        .iter()
        .map(|outcome| (outcome.session, outcome.turn))
        .collect();
    assert_eq!(turns, [(0, 0), (0, 1), (0, 2), (0, 3)]);
}

#[test]
fn a_delay_counts_from_the_end_of_the_answer() {
    let endpoint = mock::start_slow("50ms", "0");
    let lines = [
        r#"{"timestamp":0,"session_id":"s","text_input":"a","output_length":1}"#,
        r#"{"session_id":"s","delay":120,"text_input":"b","output_length":1}"#,
    ];
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    let (first, second) = (&run.outcomes[0].times, &run.outcomes[1].times);
    assert!(
        second.due.unwrap() - first.done.unwrap() >= 120_000_000,
        "{first:?} {second:?}"
    );
    assert_eq!(second.recorded, None);
}

#[test]
fn a_recorded_time_waits_for_the_answer_and_the_answer_for_the_recorded_time() {
    let endpoint = mock::start_slow("100ms", "0");
    let lines = [
        r#"{"timestamp":0,"session_id":"s","text_input":"a","output_length":1}"#,
        r#"{"timestamp":10,"session_id":"s","text_input":"b","output_length":1}"#,
        r#"{"timestamp":600,"session_id":"s","text_input":"c","output_length":1}"#,
    ];
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    let times: Vec<_> = run.outcomes.iter().map(|outcome| outcome.times).collect();
    assert!(
        times[1].due >= times[0].done && times[1].recorded == Some(10_000_000),
        "{times:?}"
    );
    assert_eq!(times[2].recorded, Some(600_000_000));
    assert!(times[2].due >= times[2].recorded, "{times:?}");
}

#[test]
fn live_answers_go_into_the_next_body() {
    let answers = ["First \"answer\"\n", "zweite: é 🦀 \\u0041"];
    let server = ScriptedServer::start(move |request| {
        let whole = answers[request.index.min(1)];
        let halves = whole.split_at(5);
        let events = [output(halves.0), output(halves.1), DONE.to_owned()];
        vec![Step::Write(stream(&events))]
    });
    let run = replay_trace(&chat(&["Who \"wrote\" it?", "And when?", "Why?"]), &server);
    run.assert_all_completed();
    let user = |text: &str| json!({"role": "user", "content": text});
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    assert_eq!(messages(&server, 0), json!([user("Who \"wrote\" it?")]));
    assert_eq!(
        messages(&server, 2),
        json!([
            user("Who \"wrote\" it?"),
            assistant(answers[0]),
            user("And when?"),
            assistant(answers[1]),
            user("Why?")
        ])
    );
}

#[test]
fn an_answer_that_is_no_stream_is_threaded_in_as_well() {
    let server = ScriptedServer::answering(chat_completion("whole"));
    let mut plan = recorded_plan(
        content(Format::MooncakeTrace, &chat(&["a", "b"])),
        &[server.url()],
    );
    plan.template.streaming = Some(false);
    replay(plan).assert_all_completed();
    assert!(
        server.requests()[1]
            .text()
            .contains(r#"{"role":"assistant","content":"whole"}"#)
    );
}

#[test]
fn a_completions_prompt_goes_on_with_the_answer() {
    let chunk = event(r#"{"choices":[{"index":0,"text":" yes"}]}"#);
    let server = ScriptedServer::answering(stream(&[chunk, DONE.to_owned()]));
    let mut plan = recorded_plan(
        content(Format::MooncakeTrace, &chat(&["a", " b"])),
        &[server.url()],
    );
    plan.template.api = Api::Completions;
    plan.targets = vec![Target::parse(&server.url(), Api::Completions).unwrap()];
    replay(plan).assert_all_completed();
    let requests = server.requests();
    assert!(requests[1].head.starts_with("POST /v1/completions HTTP/1.1"));
    assert!(
        requests[1].text().contains(r#""prompt":"a yes b""#),
        "{}",
        requests[1].text()
    );
}

/// With several choices, each chunk has one of them.
#[test]
fn the_answer_is_that_of_the_first_choice_however_choices_alternate() {
    let of_choice = |index: u32, text: &str| {
        event(&format!(
            r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}}}}]}}"#
        ))
    };
    let events = [
        of_choice(1, "x"),
        of_choice(0, "a"),
        of_choice(1, "y"),
        of_choice(0, "b"),
        DONE.to_owned(),
    ];
    let server = ScriptedServer::answering(stream(&events));
    let run = replay_trace(&chat(&["a", "b"]), &server);
    run.assert_all_completed();
    assert_eq!(
        messages(&server, 1)[1],
        json!({"role": "assistant", "content": "ab"})
    );
    assert_eq!(run.outcomes[0].output_chunks, 4);
}

#[test]
fn reasoning_is_not_part_of_the_answer() {
    let events = [
        delta(r#"{"reasoning_content":"hm"}"#),
        output("a"),
        DONE.to_owned(),
    ];
    let server = ScriptedServer::answering(stream(&events));
    replay_trace(&chat(&["a", "b"]), &server).assert_all_completed();
    assert_eq!(
        messages(&server, 1)[1],
        json!({"role": "assistant", "content": "a"})
    );
}

/// The second request of the server fails.
fn failing_second() -> ScriptedServer {
    ScriptedServer::start(|request| {
        let answer = match request.index {
            1 => json("500 Internal Server Error", "{}"),
            _ => stream(&[output("a"), DONE.to_owned()]),
        };
        vec![Step::Write(answer)]
    })
}

#[test]
fn a_failed_turn_ends_a_conversation_of_live_answers() {
    let server = failing_second();
    let run = replay_trace(&chat(&["a", "b", "c", "d"]), &server);
    assert_eq!(run.endings(), [Ending::Completed, STATUS, MISSING, MISSING]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_failed_turn_does_not_end_a_conversation_of_recorded_bodies() {
    let of = |column: &str, value: Value| {
        let first = json!({"timestamp": 0, "session_id": "s", column: value});
        let later = json!({"session_id": "s", column: value});
        [first, later.clone(), later].map(|line| line.to_string())
    };
    let messages = json!([{"role": "user", "content": "Hi"}]);
    for lines in [
        of("messages", messages.clone()),
        of("payload", json!({"messages": messages, "stream": true})),
    ] {
        let server = failing_second();
        let run = replay_trace(&lines, &server);
        assert_eq!(run.endings(), [Ending::Completed, STATUS, Ending::Completed]);
    }
}

#[test]
fn sessions_alternate_between_targets_and_stay() {
    let servers = [(); 2].map(|()| ScriptedServer::answering(stream(&[output("a"), DONE.to_owned()])));
    let lines: Vec<_> = (0..3)
        .flat_map(|turn| (0..5).map(move |session| (turn, session)))
        .map(|(turn, session)| {
            let ms = turn * 50 + session;
            json!({"timestamp": ms, "session_id": session.to_string(), "text_input": format!("{session}/{turn}"), "output_length": 1})
                .to_string()
        })
        .collect();
    let mut plan = recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[servers[0].url(), servers[1].url()],
    );
    plan.threads = NonZeroUsize::new(2).unwrap();
    let run = replay(plan);
    run.assert_all_completed();
    assert!(
        run.outcomes
            .iter()
            .all(|outcome| u32::from(outcome.target) == outcome.session % 2)
    );
    for (server, sessions) in servers.iter().zip([["0/", "2/", "4/"].as_slice(), &["1/", "3/"]]) {
        let requests = server.requests();
        assert_eq!(requests.len(), sessions.len() * 3);
        let is_of_these = |text: &str| {
            sessions
                .iter()
                .any(|session| text.contains(&format!("\"content\":\"{session}")))
        };
        assert!(requests.iter().all(|request| is_of_these(request.text())));
    }
}

#[test]
fn at_a_fixed_concurrency_sessions_stay_whole_and_in_order() {
    let endpoint = mock::start();
    let lines: Vec<_> = (0..3)
        .flat_map(|turn| (0..6).map(move |session| (turn, session)))
        .map(|(turn, session)| {
            json!({"session_id": session.to_string(), "text_input": format!("{session}/{turn}"), "output_length": 1}).to_string()
        })
        .collect();
    let content = content(Format::MooncakeTrace, &lines);
    let schedule = at_concurrency(&content, 2);
    let run = replay(plan(content, schedule, &[endpoint.url()]));
    run.assert_all_completed();
    for session in 0..6 {
        let turns: Vec<_> = run
            .outcomes
            .iter()
            .filter(|outcome| outcome.session == session)
            .collect();
        assert_eq!(turns.len(), 3);
        assert!(
            turns
                .windows(2)
                .all(|pair| pair[1].times.due >= pair[0].times.done),
            "{turns:?}"
        );
    }
}
