//! Why a trace is refused: lines that are wrong, and columns that fit nothing.

use std::fmt;

use crate::count::shortened;
use crate::format::Format;
use crate::json::{JsonError, Kind};
use crate::nearest::{did_you_mean, nearest};
use crate::position::Position;
use crate::{mooncake_trace, workload_trace};

/// A line, or a row, that is wrong.
#[derive(Debug)]
pub struct BadLine {
    position: Position,
    error: LineError,
}

impl BadLine {
    /// Where it stands in the trace, from 1, blank lines counted.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.position.number()
    }
}

/// `line 3: <what is wrong>. <how to fix it>.`, or `row 3 of part-0.parquet: …`.
impl fmt::Display for BadLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}.", self.position, self.error)
    }
}

/// What is wrong with a line. Prints without the full stop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("longer than {max} bytes. Check that the file has one record a line")]
    TooLong { max: usize },
    #[error("not UTF-8 from byte {byte} on. Write the file in UTF-8")]
    NotUtf8 { byte: usize },
    #[error("{0}. Remove the value or write one that JSON has")]
    Row(#[source] serde_json::Error),
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    UnknownColumn(#[from] UnknownColumn),
    #[error(transparent)]
    Mooncake(#[from] mooncake_trace::RecordError),
    #[error(transparent)]
    Workload(#[from] workload_trace::RecordError),
}

/// A column that the format does not know.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown column {:?}.{} Set dataset.options.unknownColumns: Ignore to read on without it", shortened(.column), advice(*.format, .column))]
pub(crate) struct UnknownColumn {
    pub(crate) format: Format,
    pub(crate) column: String,
}

fn advice(format: Format, column: &str) -> String {
    let other = Format::all()
        .iter()
        .find(|other| **other != format && other.columns().contains(&column));
    match other {
        Some(other) => format!(" {other} has such a column: check dataset.format."),
        None => did_you_mean(nearest(column, format.columns().iter().copied())),
    }
}

/// Lines that are wrong: the first ones, and how many there are.
#[derive(Debug, Default)]
pub struct BadLines {
    first: Vec<BadLine>,
    total: u64,
    advice: Option<String>,
}

impl BadLines {
    const SHOWN: usize = 20;

    pub(crate) fn add(&mut self, position: Position, error: LineError) {
        self.total += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push(BadLine { position, error });
        }
    }

    pub(crate) fn with_advice(self, advice: Option<String>) -> Self {
        Self { advice, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether the whole trace is one JSON document laid out over several lines.
    pub(crate) fn is_one_document(&self) -> bool {
        self.one_document().is_some()
    }

    /// What the whole trace is, when it is one JSON document laid out over several lines: its first line begins one
    /// without ending it, and a later line is none by itself.
    fn one_document(&self) -> Option<Kind> {
        let [first, second, ..] = self.first.as_slice() else {
            return None;
        };
        match (&first.error, &second.error) {
            (LineError::Json(JsonError::Unfinished { kind, .. }), LineError::Json(_))
                if first.position.number() == 1 && first.position.noun() == "line" =>
            {
                Some(*kind)
            }
            _ => None,
        }
    }

    /// The first of them, at most 20.
    #[must_use]
    pub fn first(&self) -> &[BadLine] {
        &self.first
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// A head line, then a line for each of the first bad lines, then how many more there are.
impl fmt::Display for BadLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.one_document() {
            let filter = if kind == Kind::Array { ".[]" } else { "." };
            return write!(
                formatter,
                "it is one JSON document over several lines. Write one object a line: jq -c '{filter}' does so."
            );
        }
        let noun = self.first.first().map_or("line", |bad| bad.position.noun());
        let lines = if self.total == 1 {
            format!("1 {noun} is")
        } else {
            format!("{} {noun}s are", grouped(self.total))
        };
        write!(formatter, "{lines} wrong, so nothing of it was used.")?;
        if let Some(advice) = &self.advice {
            write!(formatter, " {advice}.")?;
        }
        for bad in &self.first {
            write!(formatter, "\n  {bad}")?;
        }
        match self.total - self.first.len() as u64 {
            0 => Ok(()),
            more => write!(formatter, "\n  … and {} more", grouped(more)),
        }
    }
}

impl std::error::Error for BadLines {}

/// Digits in groups of three: `4,312`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A trace whose first record has no column that the format knows.
#[derive(Clone, Debug)]
pub struct NoColumnFits {
    pub(crate) format: Format,
    pub(crate) position: Position,
    pub(crate) columns: Vec<String>,
}

impl NoColumnFits {
    const SHOWN: usize = 10;
}

impl fmt::Display for NoColumnFits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            format,
            position,
            columns,
        } = self;
        if columns.is_empty() {
            write!(formatter, "its first record ({position}) has no columns at all.")?;
        } else {
            let names: Vec<String> = columns
                .iter()
                .take(Self::SHOWN)
                .map(|name| shortened(name))
                .collect();
            let more = columns.len().saturating_sub(Self::SHOWN);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let names = names.join(", ");
            write!(
                formatter,
                "its first record ({position}) has the columns {names}{more}, and {format} knows none of them."
            )?;
        }
        formatter.write_str(" Choose the dataset.format that has the trace's columns:")?;
        for known in Format::all() {
            write!(formatter, "\n  {known}: {}", known.columns().join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for NoColumnFits {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_lines_are_shown_and_the_rest_is_counted() {
        let mut bad = BadLines::default();
        for line in 1..=4332 {
            bad.add(Position::line(line), LineError::NotUtf8 { byte: 1 });
        }
        let text = bad.to_string();
        assert!(
            text.starts_with("4,332 lines are wrong, so nothing of it was used.\n  line 1: not UTF-8"),
            "{text}"
        );
        assert!(
            text.ends_with("line 20: not UTF-8 from byte 1 on. Write the file in UTF-8.\n  … and 4,312 more"),
            "{text}"
        );
        assert_eq!((bad.first().len(), bad.total()), (20, 4332));
    }

    #[test]
    fn a_document_over_several_lines_is_one_fault() {
        let said = |text: &str| {
            let mut bad = BadLines::default();
            for (number, line) in (1..).zip(text.lines()) {
                if let Err(error) = crate::json::Members::parse(line) {
                    bad.add(Position::line(number), error.into());
                }
            }
            bad.to_string()
        };
        let expected = |filter: &str| {
            format!(
                "it is one JSON document over several lines. Write one object a line: jq -c '{filter}' does so."
            )
        };
        assert_eq!(said("[\n {\"a\": 1},\n {\"a\": 2}\n]"), expected(".[]"));
        assert_eq!(said("[{\"a\": 1},\n {\"a\": 2}]"), expected(".[]"));
        assert_eq!(said("{\n  \"a\": 1,\n  \"b\": {}\n}"), expected("."));
        assert_eq!(said("{\n  \"a\": 1\n}\n{\n  \"a\": 1\n}"), expected("."));
        assert!(said("{\"a\": 1,\n{\"a\": 2}").starts_with("1 line is wrong"));
        assert!(said("{\"a\": 1}\n{\n\"a\": 2\n}").starts_with("3 lines are wrong"));
        assert!(said("{\"a\": \n{\"a\"}").starts_with("2 lines are wrong"));
    }

    #[test]
    fn an_unknown_column_is_answered_with_the_nearest_or_with_the_format_that_has_it() {
        let text = |column: &str| {
            UnknownColumn {
                format: Format::MooncakeTrace,
                column: column.to_owned(),
            }
            .to_string()
        };
        assert_eq!(
            text("input_lenght"),
            "unknown column \"input_lenght\". Did you mean input_length? Set dataset.options.unknownColumns: Ignore to \
             read on without it"
        );
        assert_eq!(
            text("body"),
            "unknown column \"body\". workload_trace has such a column: check dataset.format. Set \
             dataset.options.unknownColumns: Ignore to read on without it"
        );
        assert!(!text("foo").contains("mean"));
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
