//! What is known of a trace once it was read.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use reprise_content::{Body, Piece, Slot, Turn};

use crate::named_counts::NamedCounts;

/// What is known of a trace once it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, true or false whatever the others are"
)]
pub struct Facts {
    /// Records, each of which is a turn.
    pub records: u32,
    /// Lines without anything on them.
    pub blank_lines: u32,
    /// Sessions.
    pub sessions: u32,
    /// Whether the first turn of every session has a time.
    pub is_timed: bool,
    /// Whether some body is made by Reprise and needs `target.model`.
    pub is_synthesised: bool,
    /// Whether some body was recorded as a whole ([`Body::Recorded`]).
    pub has_recorded_bodies: bool,
    /// Whether some recorded body names a model.
    pub has_recorded_models: bool,
    /// The earliest time, in nanoseconds on the trace's own clock.
    pub earliest_ns: Option<i64>,
    /// The latest time, in nanoseconds on the trace's own clock.
    pub latest_ns: Option<i64>,
    /// What a person should know before trusting the replay.
    pub warnings: Vec<DatasetWarning>,
}

impl Facts {
    /// Counts a turn, in the order of the trace.
    pub(crate) fn add(&mut self, turn: &Turn) {
        if turn.session == self.sessions {
            self.is_timed = turn.recorded_ns.is_some() && (self.is_timed || self.records == 0);
        }
        self.sessions = self.sessions.max(turn.session.saturating_add(1));
        self.records += 1;
        if let Some(ns) = turn.recorded_ns {
            self.earliest_ns = Some(self.earliest_ns.map_or(ns, |earliest| earliest.min(ns)));
            self.latest_ns = Some(self.latest_ns.map_or(ns, |latest| latest.max(ns)));
        }
        if let Body::Recorded { pieces, .. } = &turn.body {
            self.has_recorded_bodies = true;
            self.has_recorded_models = self.has_recorded_models
                || pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Slot(Slot::Model(_))));
        }
    }
}

/// Something about a trace that a person should know before trusting its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetWarning {
    /// Columns that the format does not know, by name, with the number of records that have them.
    ColumnsIgnored(NamedCounts),
    /// Recorded headers that carry secrets, by name.
    CredentialHeadersDropped(NamedCounts),
    /// Recorded headers that belong to the recorded connection, by name.
    ConnectionHeadersDropped(NamedCounts),
    /// Recorded content types that are not JSON, though the bodies are.
    ContentTypesDropped {
        /// How many.
        records: u64,
    },
    /// Recorded models that are not strings.
    ModelsNotText {
        /// How many.
        records: u64,
    },
    /// Bodies with both `max_tokens` and `max_completion_tokens`.
    TwoTokenLimits {
        /// How many.
        records: u64,
    },
    /// Every record names a session of its own, so that no turn follows another.
    SessionsOfOneTurn {
        /// How many.
        sessions: u32,
    },
    /// All records name the same session, so that each waits for the one before.
    SingleSession {
        /// How many turns it has.
        records: u32,
    },
    /// Sessions whose every input is at least as long as all that was said before.
    InputLengthsLookCumulative {
        /// Sessions that look so.
        sessions: u32,
        /// Sessions that have several turns with known lengths.
        of: u32,
    },
    /// Delays on first turns, which have nothing to wait for.
    DelaysWithoutPredecessor {
        /// How many.
        turns: u64,
    },
    /// Later turns whose time is before that of the turn they follow.
    TurnsBeforeTheirPredecessor {
        /// How many.
        turns: u64,
    },
    /// Records whose time is before that of the record on an earlier line.
    RecordsOutOfOrder {
        /// How many.
        records: u64,
    },
    /// Times in milliseconds that would be today's if they were seconds since 1970.
    TimesLookLikeSeconds,
    /// In all records the hash ids cover less than the input, as they do when the block size is too small.
    BlockSizeTooSmall {
        /// The block size in use.
        block_size: NonZeroU32,
        /// Block sizes that would fit all records, if there are any.
        fits: Option<RangeInclusive<u32>>,
    },
}

impl DatasetWarning {
    /// A stable name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ColumnsIgnored(_) => "ColumnsIgnored",
            Self::CredentialHeadersDropped(_) => "CredentialHeadersDropped",
            Self::ConnectionHeadersDropped(_) => "ConnectionHeadersDropped",
            Self::ContentTypesDropped { .. } => "ContentTypesDropped",
            Self::ModelsNotText { .. } => "ModelsNotText",
            Self::TwoTokenLimits { .. } => "TwoTokenLimits",
            Self::SessionsOfOneTurn { .. } => "SessionsOfOneTurn",
            Self::SingleSession { .. } => "SingleSession",
            Self::InputLengthsLookCumulative { .. } => "InputLengthsLookCumulative",
            Self::DelaysWithoutPredecessor { .. } => "DelaysWithoutPredecessor",
            Self::TurnsBeforeTheirPredecessor { .. } => "TurnsBeforeTheirPredecessor",
            Self::RecordsOutOfOrder { .. } => "RecordsOutOfOrder",
            Self::TimesLookLikeSeconds => "TimesLookLikeSeconds",
            Self::BlockSizeTooSmall { .. } => "BlockSizeTooSmall",
        }
    }
}

impl fmt::Display for DatasetWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ColumnsIgnored(columns) => write!(formatter, "Unknown columns were ignored: {columns}."),
            Self::CredentialHeadersDropped(headers) => write!(
                formatter,
                "Recorded credential headers are not replayed: {headers}. Name them in dataset.options.keepHeaders to \
                 send them."
            ),
            Self::ConnectionHeadersDropped(headers) => write!(
                formatter,
                "Recorded headers of the connection are not replayed: {headers}. The replay's own connection sets them."
            ),
            Self::ContentTypesDropped { records } => write!(
                formatter,
                "The recorded content-type of {} is not JSON and is not replayed, since the bodies are JSON.",
                many(*records, "record")
            ),
            Self::ModelsNotText { records } => write!(
                formatter,
                "The model in {} is not a string. It is sent as recorded; target.modelOverride and target.modelMapping \
                 leave it alone.",
                many(*records, "body")
            ),
            Self::TwoTokenLimits { records } => write!(
                formatter,
                "{} both max_tokens and max_completion_tokens. replay.matchOutputLength changes only \
                 max_completion_tokens there.",
                have(*records, "body")
            ),
            Self::SessionsOfOneTurn { sessions } => write!(
                formatter,
                "All {sessions} records name a session_id of their own, so no turn follows another. Check that \
                 session_id holds the conversation and not the request."
            ),
            Self::SingleSession { records } => write!(
                formatter,
                "All {records} records name the same session_id, so each waits for the answer to the one before. Check \
                 that session_id holds the conversation."
            ),
            Self::InputLengthsLookCumulative { sessions, of } => write!(
                formatter,
                "In {sessions} of {of} sessions with several turns, every input_length is at least all that was said \
                 before, as if it counted the whole conversation. Here input_length counts a turn's new words only: \
                 prompts may come out about twice as long as recorded."
            ),
            Self::DelaysWithoutPredecessor { turns } => write!(
                formatter,
                "{} a delay but nothing to wait for. The delay is not used.",
                have(*turns, "first turn")
            ),
            Self::TurnsBeforeTheirPredecessor { turns } => write!(
                formatter,
                "{} an earlier time than the turn before it in its session. Turns keep the order of the trace.",
                have(*turns, "later turn")
            ),
            Self::RecordsOutOfOrder { records } => write!(
                formatter,
                "{} an earlier time than the record before it. The schedule sorts by time and keeps the order of the \
                 trace among equal times.",
                have(*records, "record")
            ),
            Self::TimesLookLikeSeconds => formatter.write_str(
                "Every timestamp would be a date of our time if it were in seconds, and is read in milliseconds: the \
                 replay would be a thousand times too fast. If the column holds seconds, set \
                 dataset.options.timestampUnit: s.",
            ),
            Self::BlockSizeTooSmall { block_size, fits } => {
                write!(
                    formatter,
                    "With {block_size} tokens a hash id, the hash ids of every record cover less than its input_length, \
                     so the rest shares nothing. The block size is probably larger"
                )?;
                match fits {
                    Some(sizes) => write!(
                        formatter,
                        ": dataset.options.blockSize {} fits all records.",
                        sizes_text(sizes)
                    ),
                    None => formatter.write_str(", though no single one fits all records."),
                }
            }
        }
    }
}

/// `512`, or `510 to 515`, with the round one named where there is just one.
pub(crate) fn sizes_text(sizes: &RangeInclusive<u32>) -> String {
    let (from, to) = (*sizes.start(), *sizes.end());
    if from == to {
        return from.to_string();
    }
    // The largest power of two up to `to`; block sizes nearly always are one.
    match 1_u32 << to.max(1).ilog2() {
        power if power >= from => format!("{power} (or any from {from} to {to})"),
        _ => format!("{from} to {to}"),
    }
}

fn many(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "body") => format!("{count} bodies"),
        (count, noun) => format!("{count} {noun}s"),
    }
}

fn have(count: u64, noun: &str) -> String {
    let verb = if count == 1 { "has" } else { "have" };
    format!("{} {verb}", many(count, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_name_the_power_of_two_among_them() {
        assert_eq!(sizes_text(&(512..=512)), "512");
        assert_eq!(sizes_text(&(500..=600)), "512 (or any from 500 to 600)");
        assert_eq!(sizes_text(&(520..=600)), "520 to 600");
    }

    #[test]
    fn warnings_read_as_sentences() {
        let warnings = [
            DatasetWarning::ContentTypesDropped { records: 1 },
            DatasetWarning::ModelsNotText { records: 2 },
            DatasetWarning::TwoTokenLimits { records: 1 },
            DatasetWarning::SessionsOfOneTurn { sessions: 100 },
            DatasetWarning::InputLengthsLookCumulative { sessions: 3, of: 4 },
            DatasetWarning::DelaysWithoutPredecessor { turns: 2 },
            DatasetWarning::RecordsOutOfOrder { records: 1 },
            DatasetWarning::TimesLookLikeSeconds,
            DatasetWarning::BlockSizeTooSmall {
                block_size: NonZeroU32::MIN,
                fits: Some(16..=16),
            },
            DatasetWarning::BlockSizeTooSmall {
                block_size: NonZeroU32::MIN,
                fits: None,
            },
        ];
        let lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
