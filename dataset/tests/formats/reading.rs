//! Reading a trace that a test has as text.

use std::convert::Infallible;

use reprise_content::{Body, Piece, Slot, Turn};
use reprise_dataset::{Facts, Format, Options, ReadError, read};

pub(crate) fn read_bytes(
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

/// The turns and facts of a trace that is right.
pub(crate) fn read_lines(format: Format, lines: &[&str]) -> (Vec<Turn>, Facts) {
    read_bytes(format, lines.join("\n").as_bytes(), &Options::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What is said about a trace that is wrong.
pub(crate) fn refusal(format: Format, lines: &[&str]) -> String {
    match read_bytes(format, lines.join("\n").as_bytes(), &Options::default()) {
        Ok((turns, _)) => panic!("read {turns:?}"),
        Err(error) => error.to_string(),
    }
}

/// What is said about the only line of a trace that is wrong, without the head line.
pub(crate) fn refusal_of_line(format: Format, line: &str) -> String {
    let text = refusal(format, &[line]);
    match text.split_once("\n  line 1: ") {
        Some((_, refusal)) => refusal.to_owned(),
        None => panic!("{text}"),
    }
}

/// What each warning says.
pub(crate) fn warnings(facts: &Facts) -> Vec<String> {
    facts.warnings.iter().map(ToString::to_string).collect()
}

/// A recorded body with its slots in pointed brackets: `{"model":<"m">,"stream":true<tail>}`.
pub(crate) fn sketch(body: &Body) -> String {
    let Body::Recorded { pieces, .. } = body else {
        panic!("{body:?} is not recorded");
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => text(literal),
            Piece::Slot(Slot::Model(value) | Slot::MaxTokens(value) | Slot::IgnoreEos(value)) => {
                format!("<{}>", text(value))
            }
            Piece::Slot(Slot::Tail(_)) => "<tail>".to_owned(),
            Piece::Corpus { .. } => panic!("a recorded body has no corpus text"),
        })
        .collect()
}
