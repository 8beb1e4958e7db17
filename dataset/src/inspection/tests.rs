//! Whole traces, against what is known of them.

use std::convert::Infallible;

use super::{Inspection, Inspector};
use crate::{Format, Options, read};

fn inspect(format: Format, trace: &str) -> Inspection {
    let mut inspector = Inspector::default();
    let facts = read::<Infallible>(format, &mut trace.as_bytes(), &Options::default(), &mut |turn| {
        inspector.add(&turn);
        Ok(())
    });
    inspector.finish(&facts.unwrap())
}

#[test]
fn an_excerpt_of_a_published_trace_is_what_was_counted_in_it() {
    let trace = include_str!("../../tests/data/mooncake_conversation_head.jsonl");
    insta::assert_json_snapshot!(inspect(Format::MooncakeTrace, trace));
}

#[test]
fn recorded_bodies_are_told_by_model_and_streaming() {
    let trace = r#"
        {"timestamp": 10.5, "body": {"model": "a", "stream": true}, "completion_tokens": 9}
        {"timestamp": 10, "body": {"model": "b", "response_format": {"type": "json_object"}}}
        {"timestamp": 12, "body": {}, "headers": {"Authorization": "Bearer x"}}
    "#;
    insta::assert_json_snapshot!(inspect(Format::WorkloadTrace, trace));
}

#[test]
fn conversations_are_told_by_their_turns() {
    let trace = r#"
        {"session_id": "a", "text_input": "Hello", "output_length": 5}
        {"session_id": "b", "text_input": "Hi", "output_length": 7}
        {"session_id": "a", "text_input": "Go on", "output_length": 5, "delay": 1500}
        {"messages": [{"role": "user", "content": "Hello"}]}
    "#;
    let found = inspect(Format::MooncakeTrace, trace);
    assert_eq!((found.sessions.count, found.sessions.with_several_turns), (3, 1));
    assert_eq!((found.bodies.texts, found.bodies.messages), (3, 1));
    assert_eq!((found.is_timed, found.needs_target_model), (false, true));
    assert_eq!(
        (&found.arrivals, &found.input_tokens, &found.sharing),
        (&None, &None, &None)
    );
    assert_eq!(
        found.output_tokens.map(|tokens| (tokens.count, tokens.total)),
        Some((3, 17))
    );
}
