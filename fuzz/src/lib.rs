//! What several targets share: traces, read and checked.

use std::collections::BTreeMap;
use std::convert::Infallible;

use reprise_content::{Body, Piece, Slot, Turn};
use reprise_dataset::{Facts, Format, Options, ReadError, UnknownColumns, read};
use serde_json::value::RawValue;

/// One record of a trace: the values of its columns as written, `null` left out.
pub type Record<'a> = BTreeMap<String, &'a str>;

/// Reads a trace.
///
/// # Errors
/// When it is refused.
pub fn turns(
    format: Format,
    trace: &[u8],
    options: &Options,
) -> Result<(Vec<Turn>, Facts), ReadError<Infallible>> {
    let mut turns = Vec::new();
    let facts = read(format, &mut &*trace, options, &mut |turn| {
        turns.push(turn);
        Ok(())
    })?;
    Ok((turns, facts))
}

/// Reads a trace in both ways of dealing with columns that the format does not know, and checks what holds of every trace that
/// is taken. `check` says what holds of one turn and its record.
pub fn check_trace(format: Format, trace: &[u8], check: fn(&Turn, &Record<'_>)) {
    let strict = turns(format, trace, &Options::default());
    let ignoring = Options {
        unknown_columns: UnknownColumns::Ignore,
        ..Options::default()
    };
    match turns(format, trace, &ignoring) {
        Ok((turns, facts)) => {
            check_numbers(&turns, &facts);
            for turn in &turns {
                check(turn, &record(trace, turn.line));
            }
            if let Ok((strict, _)) = strict {
                assert_eq!(strict, turns);
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(strict.is_err(), "refused only where unknown columns are ignored");
        }
    }
}

/// Records are counted, and sessions are numbered without holes in the order in which they come.
fn check_numbers(turns: &[Turn], facts: &Facts) {
    let sessions = turns.iter().fold(0, |sessions, turn| {
        assert!(
            turn.session <= sessions,
            "session {} comes too early",
            turn.session
        );
        sessions.max(turn.session + 1)
    });
    assert_eq!(facts.sessions, sessions);
    assert_eq!(facts.records as usize, turns.len());
    assert!(turns.is_sorted_by(|one, next| one.line < next.line));
}

fn record(trace: &[u8], line: u32) -> Record<'_> {
    let bytes = trace
        .split(|byte| *byte == b'\n')
        .nth(line as usize - 1)
        .expect("the line of a turn is a line of the trace");
    let text = std::str::from_utf8(bytes).expect("a record is text");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).expect("a record is an object");
    members
        .into_iter()
        .map(|(column, value)| (column, value.get()))
        .filter(|(_, value)| *value != "null")
        .collect()
}

/// A recorded body as the template leaves it when it changes nothing.
pub fn recorded_bytes(body: &Body) -> Vec<u8> {
    let Body::Recorded { pieces } = body else {
        panic!("not a recorded body: {body:?}");
    };
    pieces.iter().flat_map(recorded_piece).copied().collect()
}

fn recorded_piece(piece: &Piece) -> &[u8] {
    match piece {
        Piece::Literal(bytes) => bytes,
        Piece::Slot(Slot::Model(bytes) | Slot::MaxTokens(bytes) | Slot::IgnoreEos(bytes)) => bytes,
        Piece::Slot(Slot::Tail(_)) => b"",
        Piece::Corpus { .. } => panic!("a recorded body has no text of ours"),
    }
}

/// Whether `json` is one JSON value.
pub fn is_json(json: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(json).is_ok()
}
