//! What `mooncake_trace` makes of its records, and what it refuses.

use std::num::NonZeroU32;

use proptest::prelude::*;
use reprise_content::{Body, Piece, TextId, Turn};
use reprise_dataset::{DatasetWarning, Facts, Format, HeaderName, Options, ReadError, TimestampUnit};

use crate::reading::{read_bytes, read_lines, refusal, refusal_of_line, sketch, warnings};

pub(crate) fn turns(lines: &[&str]) -> (Vec<Turn>, Facts) {
    read_lines(Format::MooncakeTrace, lines)
}

pub(crate) fn turn(line: &str) -> Turn {
    turns(&[line]).0.remove(0)
}

pub(crate) fn refused(line: &str) -> String {
    refusal_of_line(Format::MooncakeTrace, line)
}

pub(crate) fn refused_lines(lines: &[&str]) -> String {
    refusal(Format::MooncakeTrace, lines)
}

fn with_block_size(
    size: u32,
    lines: &[&str],
) -> Result<(Vec<Turn>, Facts), ReadError<std::convert::Infallible>> {
    let options = Options {
        block_size: NonZeroU32::new(size),
        ..Options::default()
    };
    read_bytes(Format::MooncakeTrace, lines.join("\n").as_bytes(), &options)
}

fn shared(id: i64, tokens: u32) -> Piece {
    Piece::Corpus {
        id: TextId::shared(id).unwrap(),
        tokens,
    }
}

fn own(line: u32, tokens: u32) -> Piece {
    Piece::Corpus {
        id: TextId::unshared(line),
        tokens,
    }
}

fn pieces(turn: &Turn) -> &[Piece] {
    match &turn.body {
        Body::Prompt { pieces, .. } => pieces,
        other => panic!("{other:?}"),
    }
}

fn extra(turn: &Turn) -> Option<&str> {
    match &turn.body {
        Body::Prompt { extra, .. } | Body::Messages { extra, .. } => {
            extra.as_ref().map(|extra| std::str::from_utf8(extra).unwrap())
        }
        Body::Recorded { .. } => panic!("{turn:?}"),
    }
}

// Input kinds.

#[test]
fn a_length_with_hash_ids_shares_text_by_id() {
    let (turns, facts) = turns(&[
        r#"{"timestamp":0,"input_length":1300,"output_length":5,"hash_ids":[1,2,3]}"#,
        r#"{"timestamp":0,"input_length":1400,"output_length":5,"hash_ids":[1,2,9]}"#,
    ]);
    assert_eq!(
        pieces(&turns[0]),
        [shared(1, 512), shared(2, 512), shared(3, 276)]
    );
    assert_eq!(
        pieces(&turns[1]),
        [shared(1, 512), shared(2, 512), shared(9, 376)]
    );
    assert_eq!(
        (turns[0].input_tokens, turns[0].output_tokens),
        (Some(1300), Some(5))
    );
    assert!(facts.is_synthesised);
}

#[test]
fn a_length_without_hash_ids_is_text_of_its_own() {
    let (turns, _) = turns(&[
        r#"{"input_length":10}"#,
        r#"{"input_length":10,"hash_ids":[]}"#,
        r#"{"input_length":10.0,"hash_ids":null}"#,
    ]);
    for (turn, line) in turns.iter().zip(1..) {
        assert_eq!(pieces(turn), [own(line, 10)]);
        assert_eq!(turn.output_tokens, None);
    }
}

#[test]
fn hash_ids_beyond_the_length_are_refused_with_the_block_size_that_fits() {
    // A file with 16 tokens a block, read with 512.
    insta::assert_snapshot!(refused_lines(&[
        r#"{"input_length":100,"hash_ids":[1,2,3,4,5,6,7]}"#,
        r#"{"input_length":33,"hash_ids":[1,2,3]}"#,
        r#"{"input_length":16,"hash_ids":[1]}"#,
    ]));
    assert!(with_block_size(16, &[r#"{"input_length":100,"hash_ids":[1,2,3,4,5,6,7]}"#]).is_ok());
}

#[test]
fn a_block_size_that_is_too_small_everywhere_is_warned_of() {
    let lines = [
        r#"{"input_length":1300,"hash_ids":[1,2,3]}"#,
        r#"{"input_length":1025,"hash_ids":[1,2,4]}"#,
    ];
    let (turns, facts) = with_block_size(16, &lines).unwrap();
    assert_eq!(
        pieces(&turns[0]),
        [shared(1, 16), shared(2, 16), shared(3, 16), own(1, 1252)]
    );
    let block_size = NonZeroU32::new(16).unwrap();
    assert_eq!(
        facts.warnings,
        [DatasetWarning::BlockSizeTooSmall {
            block_size,
            fits: Some(434..=512)
        }]
    );
    assert_eq!(with_block_size(512, &lines).unwrap().1.warnings, []);
}

#[test]
fn a_text_is_kept_escaped_as_it_is() {
    let turn = turn(r#"{"text_input":"say \"h\u00e9\"\n"}"#);
    assert_eq!(pieces(&turn), [Piece::Literal(r#"say \"h\u00e9\"\n"#.into())]);
    assert_eq!(turn.input_tokens, None);
    assert_eq!(
        refused(r#"{"text_input":""}"#),
        "text_input is empty. Write a prompt, or remove the record."
    );
    assert!(
        refused(r#"{"text_input":"\ud800"}"#).starts_with("text_input has escapes that name no character.")
    );
    assert!(refused(r#"{"text_input":5}"#).starts_with("text_input is a number."));
}

#[test]
fn messages_are_kept_byte_for_byte() {
    let turn = turn(
        r#"{"messages": [ {"content":null,"role" : "user"},{"role":"x"}],"tools":[{"a": 1}],"extra":{"top_p":0.90}}"#,
    );
    let Body::Messages { messages, .. } = &turn.body else {
        panic!("{turn:?}");
    };
    assert_eq!(messages, r#"[ {"content":null,"role" : "user"},{"role":"x"}]"#);
    assert_eq!(extra(&turn), Some(r#""tools":[{"a": 1}],"top_p":0.90"#));
}

#[test]
fn messages_without_roles_are_refused_with_their_index() {
    assert!(refused(r#"{"messages":[]}"#).starts_with("messages is an empty list."));
    assert!(refused(r#"{"messages":{}}"#).starts_with("messages is an object."));
    assert!(refused(r#"{"messages":[{"role":"user"},{}]}"#).starts_with("messages[1] has no role."));
    assert!(
        refused(r#"{"messages":[{"role":"user"},{"role":1}]}"#).starts_with("messages[1].role is a number.")
    );
    assert!(refused(r#"{"messages":["hi"]}"#).starts_with("messages[0] is a string."));
    assert!(
        refused(r#"{"messages":[{"role":"a","role":"b"}]}"#)
            .starts_with("messages[0]: it has the key \"role\" twice")
    );
    assert!(refused(r#"{"messages":[{"role":"a"}],"tools":{}}"#).starts_with("tools is an object."));
}

#[test]
fn a_payload_is_kept_byte_for_byte_with_slots() {
    let (turns, facts) =
        turns(&[r#"{"payload":{"model": "m","prompt":"x","max_tokens":5 },"output_length":7}"#]);
    assert_eq!(
        sketch(&turns[0].body),
        r#"{"model": <"m">,"prompt":"x","max_tokens":<5> <tail>}"#
    );
    assert_eq!(turns[0].output_tokens, Some(7));
    assert!(facts.has_recorded_bodies && facts.has_recorded_models && !facts.is_synthesised);
    assert!(refused(r#"{"payload":"{}"}"#).starts_with("payload is a string."));
    assert!(refused(r#"{"payload":{"a":1,"a":2}}"#).starts_with("payload: it has the key \"a\" twice"));
}

#[test]
fn there_is_exactly_one_input() {
    assert_eq!(
        refused(r#"{"timestamp":0}"#),
        "none of input_length, text_input, messages and payload is there. Add the one that says what to send."
    );
    assert!(refused(r#"{"input_length":null}"#).starts_with("none of input_length"));
    assert_eq!(
        refused(r#"{"input_length":1,"payload":{}}"#),
        "input_length and payload are both there. Keep one of input_length, text_input, messages and payload."
    );
    assert!(
        refused(r#"{"text_input":"a","hash_ids":[1]}"#).starts_with("hash_ids go only with input_length.")
    );
    assert!(refused(r#"{"input_length":1,"tools":[]}"#).starts_with("tools go only with messages."));
}

#[test]
fn lengths_are_whole_numbers_from_one() {
    assert_eq!(
        refused(r#"{"input_length":0}"#),
        "input_length is 0. It must be at least 1; leave the column out where the length is not known."
    );
    assert!(
        refused(r#"{"input_length":1.5}"#).starts_with("input_length is 1.5, which is not a whole number.")
    );
    assert!(refused(r#"{"input_length":16777217}"#).starts_with(
        "input_length is 16777217, which is more than 16,777,216. Check that the column holds tokens."
    ));
    assert_eq!(
        turn(r#"{"input_length":16777216}"#).input_tokens,
        Some(16_777_216)
    );
    assert!(
        refused(r#"{"input_length":5,"output_length":16777217}"#).starts_with("output_length is 16777217,")
    );
    assert!(refused(r#"{"input_length":"5"}"#).starts_with("input_length is a string."));
    assert!(refused(r#"{"input_length":true}"#).starts_with("input_length is a boolean."));
    assert!(refused(r#"{"input_length":5,"output_length":0}"#).starts_with("output_length is 0."));
    assert!(refused(r#"{"input_length":5,"output_length":[]}"#).starts_with("output_length is a list."));
}

#[test]
fn hash_ids_are_whole_numbers_from_zero() {
    assert_eq!(
        pieces(&turn(r#"{"input_length":5,"hash_ids":[9223372036854775807]}"#)),
        [shared(i64::MAX, 5)]
    );
    assert_eq!(
        pieces(&turn(r#"{"input_length":5,"hash_ids":[3.0]}"#)),
        [shared(3, 5)]
    );
    for (ids, said) in [
        ("[0,-1]", "hash_ids[1] is -1. Write a whole number from 0 to"),
        ("[9223372036854775808]", "hash_ids[0] is 9223372036854775808."),
        ("[1.0,1.5]", "hash_ids[1] is 1.5."),
        ("[-1.0]", "hash_ids[0] is -1.0."),
        ("[1e19]", "hash_ids[0] is 1e19."),
        ("[\"a\"]", "hash_ids[0] is \"a\"."),
        ("[null]", "hash_ids[0] is null."),
        ("5", "hash_ids is a number. Write a list"),
    ] {
        let refused = refused(&format!(r#"{{"input_length":5,"hash_ids":{ids}}}"#));
        assert!(refused.starts_with(said), "{refused}");
    }
}

// What is merged into the request.

#[test]
fn extra_is_kept_for_the_request_and_wins_over_tools() {
    assert_eq!(
        extra(&turn(r#"{"input_length":5,"extra":{ "a" : [1, 2],"b":null }}"#)),
        Some(r#""a" : [1, 2],"b":null"#)
    );
    assert_eq!(extra(&turn(r#"{"input_length":5,"extra":{ }}"#)), None);
    assert_eq!(
        extra(&turn(r#"{"text_input":"a","extra":{"x":1}}"#)),
        Some(r#""x":1"#)
    );
    let messages = r#""messages":[{"role":"user"}]"#;
    assert_eq!(extra(&turn(&format!("{{{messages}}}"))), None);
    assert_eq!(
        extra(&turn(&format!(r#"{{{messages},"tools":[1]}}"#))),
        Some(r#""tools":[1]"#)
    );
    assert_eq!(
        extra(&turn(&format!(
            r#"{{{messages},"tools":[1],"extra":{{"tools":[2]}}}}"#
        ))),
        Some(r#""tools":[2]"#)
    );
}

#[test]
fn extra_is_merged_into_a_payload_in_place_or_at_its_end() {
    let body = |payload: &str, extra: &str| {
        sketch(&turn(&format!(r#"{{"payload":{payload},"extra":{extra}}}"#)).body)
    };
    assert_eq!(
        body(
            r#"{"a": 1, "model":"m" , "b":[2]}"#,
            r#"{"model":"n","c":"é","b":3}"#
        ),
        r#"{"a": 1, "model":<"n"> , "b":3,"c":"é"<tail>}"#
    );
    assert_eq!(
        body("{ }", r#"{"a":1,"max_tokens":2}"#),
        r#"{ "a":1,"max_tokens":<2><tail>}"#
    );
    assert_eq!(body(r#"{"a":1}"#, "{}"), r#"{"a":1<tail>}"#);
    assert_eq!(body(r#"{"a":1}"#, r#"{"a\n\"":2}"#), r#"{"a":1,"a\n\"":2<tail>}"#);
}

#[test]
fn extra_never_replaces_what_the_record_says() {
    for key in ["messages", "prompt", "input"] {
        for input in [
            r#""input_length":5"#,
            r#""payload":{}"#,
            r#""messages":[{"role":"user"}]"#,
        ] {
            assert_eq!(
                refused(&format!(r#"{{{input},"extra":{{"{key}":"x"}}}}"#)),
                format!(
                    "extra holds \"{key}\", which would replace what the record says. Remove it from extra."
                )
            );
        }
    }
    assert!(refused(r#"{"input_length":5,"extra":[]}"#).starts_with("extra is a list."));
    assert!(
        refused(r#"{"input_length":5,"extra":{"a":1,"a":2}}"#)
            .starts_with("extra: it has the key \"a\" twice")
    );
}

#[test]
fn a_record_whose_extra_names_the_model_needs_no_other() {
    assert!(
        !turns(&[r#"{"input_length":5,"extra":{"model":"m"}}"#])
            .1
            .is_synthesised
    );
    assert!(
        turns(&[
            r#"{"input_length":5,"extra":{"model":"m"}}"#,
            r#"{"text_input":"a"}"#
        ])
        .1
        .is_synthesised
    );
    assert!(turns(&[r#"{"messages":[{"role":"user"}]}"#]).1.is_synthesised);
}

#[test]
fn options_of_other_formats_are_refused() {
    let options = Options {
        keep_headers: vec![HeaderName::parse("cookie").unwrap()],
        ..Options::default()
    };
    let error = read_bytes(Format::MooncakeTrace, b"", &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mooncake_trace does not take keepHeaders. Remove it from dataset.options; mooncake_trace takes blockSize, \
         timestampUnit, unknownColumns."
    );
}

#[test]
fn times_that_look_like_seconds_since_1970_are_warned_of() {
    let warned = |first: &str, second: &str, unit| {
        let lines = [first, second].map(|time| format!(r#"{{"timestamp":{time},"input_length":5}}"#));
        let options = Options {
            timestamp_unit: unit,
            ..Options::default()
        };
        let facts = read_bytes(Format::MooncakeTrace, lines.join("\n").as_bytes(), &options)
            .unwrap()
            .1;
        facts.warnings.contains(&DatasetWarning::TimesLookLikeSeconds)
    };
    assert!(warned("1700000000", "1700000000.5", None));
    assert!(warned("1e9", "9999999999", Some(TimestampUnit::Milliseconds)));
    assert!(!warned("0", "1700000000", None));
    assert!(!warned("1700000000", "1e10", None));
    assert!(!warned("1700000000", "1700000001", Some(TimestampUnit::Seconds)));
    assert!(!warned(
        "1700000000",
        "1700000001",
        Some(TimestampUnit::Microseconds)
    ));
}

#[test]
fn an_ordinary_trace_is_read_without_warnings() {
    let (_, facts) = turns(&[
        r#"{"timestamp":0,"input_length":5}"#,
        r#"{"timestamp":0,"input_length":5}"#,
    ]);
    assert!(warnings(&facts).is_empty());
}

proptest! {
    #[test]
    fn a_text_reads_back_from_between_quotes(text in ".+") {
        let record = serde_json::json!({ "text_input": text }).to_string();
        let turn = turn(&record);
        let [Piece::Literal(escaped)] = pieces(&turn) else {
            panic!("{turn:?}");
        };
        let quoted = format!("\"{}\"", std::str::from_utf8(escaped).unwrap());
        prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
    }
}

#[test]
fn forced_tools_and_grammars_constrain_a_synthesised_body() {
    let messages = r#""messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]"#;
    let is_constrained = |record: String| turn(&record).is_constrained;
    assert!(!is_constrained(format!("{{{messages}}}")));
    assert!(is_constrained(format!(
        r#"{{{messages},"extra":{{"tool_choice":"required"}}}}"#
    )));
    assert!(is_constrained(
        r#"{"input_length":3,"extra":{"response_format":{"type":"json_object"}}}"#.to_owned()
    ));
}
