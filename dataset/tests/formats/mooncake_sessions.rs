//! When the turns of a `mooncake_trace` go, and which conversation they belong to.

use reprise_dataset::{DatasetWarning, Format, Options, TimestampUnit};

use crate::mooncake_trace::{refused, refused_lines, turn, turns};
use crate::reading::read_bytes;

// Times.

#[test]
fn times_and_delays_are_in_milliseconds_or_in_the_unit_asked_for() {
    let line = r#"{"timestamp":1.5,"delay":2,"session_id":"a","input_length":5}"#;
    let turn = turn(line);
    assert_eq!(
        (turn.recorded_ns, turn.delay_ns),
        (Some(1_500_000), Some(2_000_000))
    );
    let options = Options {
        timestamp_unit: Some(TimestampUnit::Seconds),
        ..Options::default()
    };
    let (turns, _) = read_bytes(Format::MooncakeTrace, line.as_bytes(), &options).unwrap();
    assert_eq!(
        (turns[0].recorded_ns, turns[0].delay_ns),
        (Some(1_500_000_000), Some(2_000_000_000))
    );
    assert_eq!(
        refused(r#"{"input_length":5,"delay":-1}"#),
        "delay is -1 ms. A delay cannot be negative."
    );
    assert_eq!(
        refused(r#"{"input_length":5,"timestamp":"1"}"#),
        "timestamp is a string. Write a number."
    );
}

#[test]
fn every_first_turn_has_a_time_or_none_has() {
    let said = refused_lines(&[r#"{"timestamp":0,"input_length":5}"#, "", r#"{"input_length":5}"#]);
    assert!(
        said.contains(
            "line 3: the first turn of a session has no timestamp, but line 1 has one. Give every first turn a timestamp, or none."
        ),
        "{said}"
    );
    let said = refused_lines(&[r#"{"input_length":5}"#, r#"{"timestamp":0,"input_length":5}"#]);
    assert!(
        said.contains("line 2: the first turn of a session has a timestamp, but line 1 has none."),
        "{said}"
    );
    assert!(
        !turns(&[r#"{"input_length":5}"#, r#"{"input_length":6}"#])
            .1
            .is_timed
    );
}

#[test]
fn later_turns_have_a_time_a_delay_both_or_neither() {
    let (turns, facts) = turns(&[
        r#"{"session_id":"a","timestamp":1,"input_length":5}"#,
        r#"{"session_id":"a","timestamp":2,"delay":9,"input_length":5}"#,
        r#"{"session_id":"a","delay":3,"input_length":5}"#,
        r#"{"session_id":"a","input_length":5}"#,
        r#"{"timestamp":1,"input_length":5}"#,
    ]);
    assert!(facts.is_timed);
    let times: Vec<_> = turns
        .iter()
        .map(|turn| (turn.recorded_ns, turn.delay_ns))
        .collect();
    let ms = 1_000_000;
    assert_eq!(
        times,
        [
            (Some(ms), None),
            (Some(2 * ms), Some(9 * 1_000_000)),
            (None, Some(3 * 1_000_000)),
            (None, None),
            (Some(ms), None)
        ]
    );
    assert_eq!(facts.warnings, []);
}

#[test]
fn a_delay_with_nothing_to_wait_for_is_warned_of() {
    let (_, facts) = turns(&[
        r#"{"delay":1,"input_length":5}"#,
        r#"{"delay":2,"input_length":5}"#,
    ]);
    assert_eq!(
        facts.warnings,
        [DatasetWarning::DelaysWithoutPredecessor { turns: 2 }]
    );
}

#[test]
fn a_turn_before_its_predecessor_is_warned_of() {
    let (_, facts) = turns(&[
        r#"{"session_id":"a","timestamp":5,"input_length":5}"#,
        r#"{"session_id":"b","timestamp":1,"input_length":5}"#,
        r#"{"session_id":"a","input_length":5}"#,
        r#"{"session_id":"a","timestamp":4,"input_length":5}"#,
    ]);
    assert_eq!(
        facts.warnings,
        [DatasetWarning::TurnsBeforeTheirPredecessor { turns: 1 }]
    );
}

// Sessions.

#[test]
fn rows_of_a_session_keep_their_order_among_others() {
    let (turns, facts) = turns(&[
        r#"{"session_id":"b","input_length":1}"#,
        r#"{"input_length":2}"#,
        r#"{"session_id":"a","input_length":3}"#,
        r#"{"session_id":"b","input_length":4}"#,
        r#"{"session_id":null,"input_length":5}"#,
        r#"{"session_id":"\u0061","input_length":6}"#,
    ]);
    let sessions: Vec<u32> = turns.iter().map(|turn| turn.session).collect();
    assert_eq!(sessions, [0, 1, 2, 0, 3, 2]);
    assert_eq!((facts.sessions, facts.records), (4, 6));
}

#[test]
fn a_session_id_is_a_string_with_something_in_it() {
    assert!(
        refused(r#"{"session_id":5,"input_length":5}"#)
            .starts_with("session_id is a number. Write a string.")
    );
    assert!(refused(r#"{"session_id":"","input_length":5}"#).starts_with("session_id is empty."));
    assert!(refused(r#"{"session_id":"\udc00","input_length":5}"#).starts_with("session_id has escapes"));
}

#[test]
fn a_session_has_one_way_to_say_what_was_said() {
    let length = r#"{"session_id":"a","input_length":5}"#;
    let text = r#"{"session_id":"a","text_input":"x"}"#;
    let messages = r#"{"session_id":"a","messages":[{"role":"user"}]}"#;
    let payload = r#"{"session_id":"a","payload":{}}"#;
    assert_eq!(turns(&[length, text]).1.sessions, 1);
    for (first, second, said) in [
        (
            length,
            messages,
            "line 2: the session has messages here and input_length or text_input on line 1.",
        ),
        (
            text,
            payload,
            "line 2: the session has payload here and input_length or text_input on line 1.",
        ),
        (
            messages,
            payload,
            "line 2: the session has payload here and messages on line 1.",
        ),
        (
            payload,
            length,
            "line 2: the session has input_length or text_input here and payload on line 1.",
        ),
    ] {
        let refused = refused_lines(&[first, second]);
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn one_fault_does_not_make_the_next_turn_look_wrong() {
    let said = refused_lines(&[
        r#"{"session_id":"a","timestamp":0,"input_length":0}"#,
        r#"{"session_id":"a","input_length":5}"#,
    ]);
    assert!(said.starts_with("1 line is wrong"), "{said}");
}

#[test]
fn a_session_column_that_groups_nothing_or_everything_is_warned_of() {
    let row = |session: usize| format!(r#"{{"session_id":"s{session}","timestamp":0,"input_length":5}}"#);
    let facts_of = |rows: Vec<String>| turns(&rows.iter().map(String::as_str).collect::<Vec<_>>()).1;
    assert_eq!(
        facts_of((0..100).map(row).collect()).warnings,
        [DatasetWarning::SessionsOfOneTurn { sessions: 100 }]
    );
    assert_eq!(
        facts_of((0..100).map(|_| row(0)).collect()).warnings[0],
        DatasetWarning::SingleSession { records: 100 }
    );
    assert_eq!(
        facts_of((0..100).map(|index| row(index / 2)).collect()).warnings,
        []
    );
    assert_eq!(facts_of(vec![row(0)]).warnings, []);
    assert_eq!(
        facts_of(vec![
            row(0),
            row(1),
            r#"{"timestamp":0,"input_length":5}"#.to_owned()
        ])
        .warnings,
        []
    );
}

#[test]
fn lengths_that_count_the_whole_conversation_are_warned_of() {
    let row = |session: &str, input: u32| {
        format!(r#"{{"session_id":"{session}","input_length":{input},"output_length":50}}"#)
    };
    let facts_of = |rows: &[String]| turns(&rows.iter().map(String::as_str).collect::<Vec<_>>()).1;
    let cumulative = [
        row("a", 100),
        row("b", 100),
        row("a", 150),
        row("a", 300),
        row("b", 149),
    ];
    assert_eq!(
        facts_of(&cumulative).warnings,
        [DatasetWarning::InputLengthsLookCumulative { sessions: 1, of: 2 }]
    );
    let deltas = [
        row("a", 100),
        row("b", 100),
        row("c", 5),
        row("a", 20),
        row("b", 149),
        row("c", 90),
    ];
    assert_eq!(facts_of(&deltas).warnings, []);
}
