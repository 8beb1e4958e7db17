//! What `workload_trace` makes of its records, and what it refuses.

use std::num::NonZeroU32;

use reprise_content::{Absent, Body, Piece, Slot, Turn};
use reprise_dataset::{DatasetWarning, Facts, Format, HeaderName, Options, TimestampUnit};

use crate::reading::{read_bytes, read_lines, refusal, refusal_of_line, sketch, warnings};

fn turns(lines: &[&str]) -> (Vec<Turn>, Facts) {
    read_lines(Format::WorkloadTrace, lines)
}

fn turn(line: &str) -> Turn {
    turns(&[line]).0.remove(0)
}

fn refused(line: &str) -> String {
    refusal_of_line(Format::WorkloadTrace, line)
}

/// The turn of a record with this body at time 0.
fn of_body(body: &str) -> Turn {
    turn(&format!(r#"{{"body":{body},"timestamp":0}}"#))
}

fn refused_body(body: &str) -> String {
    refused(&format!(r#"{{"body":{body},"timestamp":0}}"#))
}

/// The time of a record with this timestamp.
fn time(timestamp: &str) -> i64 {
    turn(&format!(r#"{{"body":{{}},"timestamp":{timestamp}}}"#))
        .recorded_ns
        .unwrap()
}

#[test]
fn a_record_becomes_one_turn_of_its_own_session() {
    let (turns, facts) = turns(&[
        r#"{"body":{"model":"qwen-plus","messages":[]},"timestamp":1700000000.0}"#,
        r#"{"body":{"model":"qwen-max"},"timestamp":1700000001.5,"headers":{"X-Tag":"exp"},"request_id":"req-42","completion_tokens":256}"#,
    ]);
    assert_eq!(turns[0].recorded_ns, Some(1_700_000_000_000_000_000));
    assert_eq!((&turns[0].request_id, turns[0].output_tokens), (&None, None));
    let second = &turns[1];
    assert_eq!((second.session, second.line, second.input_tokens), (1, 2, None));
    assert_eq!(second.recorded_ns, Some(1_700_000_001_500_000_000));
    assert_eq!(second.headers, [("X-Tag".to_owned(), "exp".to_owned())]);
    assert_eq!(second.request_id.as_deref(), Some("req-42"));
    assert_eq!((second.output_tokens, second.delay_ns), (Some(256), None));
    assert!(
        facts.is_timed && facts.has_recorded_bodies && facts.has_recorded_models && !facts.is_synthesised
    );
    assert_eq!(facts.warnings, []);
}

// Bodies.

#[test]
fn a_body_is_kept_byte_for_byte() {
    let body = r#"{ "temperature" : 0.90,"messages":[{"content":"\u00e9 é"}] ,"stream":false, "max_tokens":1e2, "model":"m","seed":12345678901234567890123 }"#;
    let marked = r#"{ "temperature" : 0.90,"messages":[{"content":"\u00e9 é"}] ,"stream":false, "max_tokens":<1e2>, "model":<"m">,"seed":12345678901234567890123 <tail>}"#;
    assert_eq!(sketch(&of_body(body).body), marked);
    let quoted = serde_json::Value::from(body).to_string();
    assert_eq!(sketch(&of_body(&quoted).body), marked);
}

#[test]
fn nothing_is_filled_in_and_what_is_absent_is_known() {
    let turn = of_body(r#"{"model":"m","messages":[]}"#);
    let Body::Recorded { pieces, .. } = &turn.body else {
        panic!("{turn:?}");
    };
    let absent = Absent {
        is_empty_object: false,
        max_tokens: true,
        ignore_eos: true,
        stream: true,
    };
    assert!(pieces.contains(&Piece::Slot(Slot::Tail(absent))));
    assert_eq!(sketch(&of_body("{}").body), "{<tail>}");
}

#[test]
fn a_body_without_a_model_stays_without() {
    let (turns, facts) = turns(&[r#"{"body":{"messages":[]},"timestamp":0}"#]);
    assert_eq!(sketch(&turns[0].body), r#"{"messages":[]<tail>}"#);
    assert!(!facts.has_recorded_models && !facts.is_synthesised);
}

#[test]
fn only_the_token_limit_that_the_body_uses_can_change() {
    assert_eq!(
        sketch(&of_body(r#"{"max_completion_tokens":9}"#).body),
        r#"{"max_completion_tokens":<9><tail>}"#
    );
    let (turns, facts) = turns(&[r#"{"body":{"max_tokens":5,"max_completion_tokens":9},"timestamp":0}"#]);
    assert_eq!(
        sketch(&turns[0].body),
        r#"{"max_tokens":5,"max_completion_tokens":<9><tail>}"#
    );
    assert_eq!(facts.warnings, [DatasetWarning::TwoTokenLimits { records: 1 }]);
}

#[test]
fn a_body_with_usage_switched_off_is_kept() {
    let body = r#"{"stream":true,"stream_options":{"include_usage":false}}"#;
    assert_eq!(
        sketch(&of_body(body).body),
        r#"{"stream":true,"stream_options":{"include_usage":false}<tail>}"#
    );
}

#[test]
fn a_grammar_marks_the_body_as_constrained() {
    for body in [
        r#"{"response_format":{"type":"json_schema"}}"#,
        r#"{"tools":[{}],"tool_choice":"required"}"#,
        r#""{\"guided_regex\":\"a\"}""#,
    ] {
        assert!(of_body(body).is_constrained, "{body}");
    }
    assert!(
        !of_body(r#"{"response_format":{"type":"text"},"tools":[{}],"tool_choice":"auto"}"#).is_constrained
    );
}

#[test]
fn what_is_no_body_is_refused() {
    for (body, said) in [
        (
            "null",
            "body is missing. Add the recorded request body, as an object or as a string that holds one.",
        ),
        (
            "[]",
            "body is a list. Write the recorded request body, as an object or as a string that holds one.",
        ),
        (
            "5",
            "body is a number. Write the recorded request body, as an object or as a string that holds one.",
        ),
        (
            r#""""#,
            "body: not valid JSON at column 0: EOF while parsing a value. Write one JSON object.",
        ),
        (
            r#""null""#,
            "body: not an object but null. Write one JSON object.",
        ),
        (
            r#""[1]""#,
            "body: not an object but a list. Write one JSON object.",
        ),
        (
            r#""{\"a\":NaN}""#,
            "body: not valid JSON at column 6: NaN is no JSON value. Remove the value or write a finite number.",
        ),
        (
            r#""\"{}\"""#,
            "body is a string that holds a string: it was encoded twice. Encode it once, or write it as an object.",
        ),
        (
            r#"{"a":1,"a":2}"#,
            "body: it has the key \"a\" twice, so one of the values would be lost. Keep one of them.",
        ),
    ] {
        assert_eq!(refused_body(body), said);
    }
    assert!(refused(r#"{"timestamp":0}"#).starts_with("body is missing."));
    assert!(refused_body(r#"{"temperature":NaN}"#).contains("NaN is no JSON value"));
}

#[test]
fn a_reserved_key_in_a_body_is_refused_by_name() {
    for key in [
        "__evalscope_headers",
        "__evalscope_is_warmup",
        "__evalscope_anything",
    ] {
        let said = format!(
            "body has the reserved key \"{key}\", which EvalScope keeps its own notes under. Remove it from the body."
        );
        assert_eq!(refused_body(&format!(r#"{{"model":"m","{key}":1}}"#)), said);
        assert_eq!(refused_body(&format!(r#""{{\"{key}\":1}}""#)), said);
    }
    assert!(refused_body(r#"{"__evalscope\u005fx":1}"#).contains("__evalscope_x"));
    assert_eq!(
        sketch(&of_body(r#"{"metadata":{"__evalscope_x":1}}"#).body),
        r#"{"metadata":{"__evalscope_x":1}<tail>}"#
    );
}

#[test]
fn a_model_that_is_no_string_is_kept_and_warned_of() {
    let (turns, facts) = turns(&[r#"{"body":{"model":null},"timestamp":0}"#]);
    assert_eq!(sketch(&turns[0].body), r#"{"model":null<tail>}"#);
    assert_eq!(facts.warnings, [DatasetWarning::ModelsNotText { records: 1 }]);
    assert!(!facts.has_recorded_models);
}

// Times.

#[test]
fn times_are_numbers_numeric_strings_or_iso_8601() {
    let second = 1_000_000_000;
    assert_eq!(time("1700000000"), 1_700_000_000 * second);
    assert_eq!(time("1700000000.123456789"), 1_700_000_000_123_456_789);
    assert_eq!(time("-1.5"), -1_500_000_000);
    assert_eq!(time("\"1700000000.5\""), 1_700_000_000_500_000_000);
    assert_eq!(time("\"1e3\""), 1000 * second);
    assert_eq!(time("\"2023-11-14T22:13:20Z\""), 1_700_000_000 * second);
    assert_eq!(time("\" 2023-11-15 06:13:20+0800 \""), 1_700_000_000 * second);
}

#[test]
fn azure_stamps_keep_their_seven_digits() {
    let record = |stamp: &str| format!(r#"{{"body":{{}},"timestamp":"2023-11-16 18:17:{stamp}"}}"#);
    let lines = ["03.9799600", "03.9805000", "03.9811000", "03.9899600"].map(record);
    let (turns, facts) = turns(&lines.each_ref().map(String::as_str));
    let offsets: Vec<i64> = turns
        .iter()
        .map(|turn| turn.recorded_ns.unwrap() - facts.earliest_ns.unwrap())
        .collect();
    assert_eq!(offsets, [0, 540_000, 1_140_000, 10_000_000]);
}

#[test]
fn a_time_is_required() {
    assert_eq!(
        refused(r#"{"body":{}}"#),
        "timestamp is missing. Add the arrival time, as a number or an ISO 8601 string."
    );
    assert!(refused(r#"{"body":{},"timestamp":null}"#).starts_with("timestamp is missing."));
}

#[test]
fn times_that_are_none_are_refused() {
    for (timestamp, said) in [
        (
            "true",
            "timestamp is a boolean. Write a number or an ISO 8601 string.",
        ),
        (
            "\"nan\"",
            "timestamp is \"nan\". Remove the record or write a finite number.",
        ),
        (
            "\"2024-02-30\"",
            "timestamp is \"2024-02-30\", which is not a time: there is no such date. Write a number or ISO 8601 such as 2025-01-15T10:00:00Z.",
        ),
    ] {
        assert_eq!(
            refused(&format!(r#"{{"body":{{}},"timestamp":{timestamp}}}"#)),
            said
        );
    }
    for timestamp in [
        "\"1_000\"",
        "\"\"",
        "\"2016-12-31T23:59:60Z\"",
        "\"2025-01-15T24:00:00\"",
        "\"٣\"",
    ] {
        let said = refused(&format!(r#"{{"body":{{}},"timestamp":{timestamp}}}"#));
        assert!(said.contains("which is not a time"), "{said}");
    }
}

#[test]
fn milliseconds_given_as_seconds_are_refused_and_read_once_declared() {
    let lines = [
        r#"{"body":{},"timestamp":1700000000000}"#,
        r#"{"body":{},"timestamp":1700000001000}"#,
    ];
    insta::assert_snapshot!(refusal(Format::WorkloadTrace, &lines));
    let options = Options {
        timestamp_unit: Some(TimestampUnit::Milliseconds),
        ..Options::default()
    };
    let (_, facts) = read_bytes(Format::WorkloadTrace, lines.join("\n").as_bytes(), &options).unwrap();
    assert_eq!(
        facts.latest_ns.unwrap() - facts.earliest_ns.unwrap(),
        1_000_000_000
    );
}

#[test]
fn records_that_go_back_in_time_are_counted() {
    let record = |time: u32| format!(r#"{{"body":{{}},"timestamp":{time}}}"#);
    let lines = [3, 1, 1, 2, 0].map(record);
    let (turns, facts) = turns(&lines.each_ref().map(String::as_str));
    assert_eq!(facts.warnings, [DatasetWarning::RecordsOutOfOrder { records: 2 }]);
    assert_eq!(turns.len(), 5);
}

// Headers, ids and lengths.

#[test]
fn recorded_credentials_are_not_replayed_unless_they_are_named() {
    let line = r#"{"body":{},"timestamp":0,"headers":{"Authorization":"Bearer s3cret","X-Tag":"a","Cookie":"c=s3cret","Host":"h","Content-Type":"text/plain"}}"#;
    let (read, facts) = turns(&[line, line]);
    assert_eq!(read[0].headers, [("X-Tag".to_owned(), "a".to_owned())]);
    insta::assert_snapshot!(warnings(&facts).join("\n"));

    let options = Options {
        keep_headers: vec![HeaderName::parse("authorization").unwrap()],
        ..Options::default()
    };
    let (read, facts) = read_bytes(Format::WorkloadTrace, line.as_bytes(), &options).unwrap();
    assert_eq!(
        read[0].headers[0],
        ("Authorization".to_owned(), "Bearer s3cret".to_owned())
    );
    assert!(!warnings(&facts)[0].contains("authorization"));
}

#[test]
fn header_values_that_would_break_a_request_are_refused() {
    let said = refused(r#"{"body":{},"timestamp":0,"headers":{"x-a":"a\r\nX: 1"}}"#);
    assert_eq!(
        said,
        "headers.x-a holds a character that HTTP does not allow in a value, such as a line break. Remove it."
    );
    assert!(refused(r#"{"body":{},"timestamp":0,"headers":{"a":1}}"#).starts_with("headers.a is a number."));
    assert!(refused(r#"{"body":{},"timestamp":0,"headers":[]}"#).starts_with("headers is a list."));
    assert!(
        refused(r#"{"body":{},"timestamp":0,"headers":{"a":"1","a":"2"}}"#).contains("the key \"a\" twice")
    );
    assert!(
        turn(r#"{"body":{},"timestamp":0,"headers":null}"#)
            .headers
            .is_empty()
    );
}

#[test]
fn a_request_id_is_text_and_an_empty_one_is_none() {
    let id = |value: &str| turn(&format!(r#"{{"body":{{}},"timestamp":0,"request_id":{value}}}"#)).request_id;
    assert_eq!(id("\"a\\u00e9\"").as_deref(), Some("aé"));
    assert_eq!(id("\"\""), None);
    assert_eq!(id("null"), None);
    assert_eq!(
        refused(r#"{"body":{},"timestamp":0,"request_id":5}"#),
        "request_id is a number. Write a string, or null."
    );
}

#[test]
fn completion_tokens_are_a_whole_number_from_one() {
    let tokens = |value: &str| {
        turn(&format!(
            r#"{{"body":{{}},"timestamp":0,"completion_tokens":{value}}}"#
        ))
        .output_tokens
    };
    for value in ["42", "42.0", "\"42\"", "4.2e1"] {
        assert_eq!(tokens(value), Some(42), "{value}");
    }
    assert_eq!(tokens("null"), None);
    for value in ["0", "-1", "42.5", "true", "[]", "\"many\"", "\"\""] {
        let said = refused(&format!(
            r#"{{"body":{{}},"timestamp":0,"completion_tokens":{value}}}"#
        ));
        assert!(said.starts_with("completion_tokens is "), "{said}");
    }
}

#[test]
fn options_of_other_formats_are_refused() {
    let options = Options {
        block_size: NonZeroU32::new(16),
        ..Options::default()
    };
    let error = read_bytes(Format::WorkloadTrace, b"", &options).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("workload_trace does not take blockSize.")
    );
}
