//! Which trace formats there are.

use std::fmt;
use std::num::NonZeroU32;

use crate::json::Members;
use crate::nearest::{did_you_mean, nearest};
use crate::options::{OptionName, Options};
use crate::parquet_trace::ParquetError;
use crate::read::RecordReader;
use crate::timestamp::TimestampUnit;
use crate::{mooncake_trace, workload_trace};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lengths with hash ids, or recorded prompts, messages or bodies; sessions of several turns.
    MooncakeTrace,
    /// Recorded request bodies with their arrival times.
    WorkloadTrace,
}

impl Format {
    /// Every format, in the order in which lists show them.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &[Self::MooncakeTrace, Self::WorkloadTrace]
    }

    /// The name that `dataset.format` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MooncakeTrace => "mooncake_trace",
            Self::WorkloadTrace => "workload_trace",
        }
    }

    /// One line for a list of formats.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::MooncakeTrace => {
                "JSON lines of token lengths with hash ids that share prefixes, or of prompts, messages or request \
                 bodies; sessions of several turns"
            }
            Self::WorkloadTrace => {
                "JSON lines of recorded request bodies with arrival times, sent byte for byte"
            }
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    ///
    /// When there is none; the error lists the known ones.
    pub fn from_name(name: &str) -> Result<Self, UnknownFormat> {
        let known = Self::all().iter().find(|format| format.name() == name);
        known.copied().ok_or_else(|| UnknownFormat {
            name: name.to_owned(),
        })
    }

    /// The format that a trace beginning with `first_line` is most likely in. `None` when it looks like none of them. It is
    /// a guess for advice to people: a format is always chosen by name.
    #[must_use]
    pub fn detect(first_line: &str) -> Option<Self> {
        let record = Members::parse(first_line.trim_start_matches('\u{feff}')).ok()?;
        let says_something = |format: &Self| {
            format
                .content_columns()
                .iter()
                .any(|column| record.get(column).is_some())
        };
        Self::all().iter().copied().find(says_something)
    }

    /// The columns that a record can have.
    #[must_use]
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::MooncakeTrace => &mooncake_trace::COLUMNS,
            Self::WorkloadTrace => &workload_trace::COLUMNS,
        }
    }

    /// The options that the format takes.
    #[must_use]
    pub const fn options(self) -> &'static [OptionName] {
        match self {
            Self::MooncakeTrace => &[
                OptionName::BlockSize,
                OptionName::TimestampUnit,
                OptionName::UnknownColumns,
            ],
            Self::WorkloadTrace => &[
                OptionName::TimestampUnit,
                OptionName::KeepHeaders,
                OptionName::UnknownColumns,
            ],
        }
    }

    /// Tokens a hash id unless the options say otherwise; `None` where the format has no hash ids.
    #[must_use]
    pub const fn default_block_size(self) -> Option<NonZeroU32> {
        match self {
            Self::MooncakeTrace => Some(mooncake_trace::DEFAULT_BLOCK_SIZE),
            Self::WorkloadTrace => None,
        }
    }

    /// What a number in a time column means unless the options say otherwise.
    #[must_use]
    pub const fn default_timestamp_unit(self) -> TimestampUnit {
        match self {
            Self::MooncakeTrace => TimestampUnit::Milliseconds,
            Self::WorkloadTrace => TimestampUnit::Seconds,
        }
    }

    /// Whether its records can have times: then the first one tells whether a trace has a recorded schedule.
    #[must_use]
    pub const fn can_be_timed(self) -> bool {
        match self {
            Self::MooncakeTrace | Self::WorkloadTrace => true,
        }
    }

    /// Whether it reads Parquet, and not only lines.
    #[must_use]
    pub const fn reads_parquet(self) -> bool {
        match self {
            Self::MooncakeTrace => true,
            Self::WorkloadTrace => false,
        }
    }

    /// Refuses Parquet for a format that does not read it.
    ///
    /// # Errors
    ///
    /// When it does not; the error names the formats that do.
    pub fn check_reads_parquet(self) -> Result<(), ParquetError> {
        if self.reads_parquet() {
            Ok(())
        } else {
            Err(ParquetError::Format { format: self })
        }
    }

    /// The columns of which a record has one that says what to send.
    const fn content_columns(self) -> &'static [&'static str] {
        match self {
            Self::MooncakeTrace => &mooncake_trace::CONTENT_COLUMNS,
            Self::WorkloadTrace => &["body"],
        }
    }

    pub(crate) fn reader(self, options: &Options) -> Box<dyn RecordReader> {
        match self {
            Self::MooncakeTrace => Box::new(mooncake_trace::Reader::new(options)),
            Self::WorkloadTrace => Box::new(workload_trace::Reader::new(options)),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot use the format {name:?}: there is none of that name.{} Known formats: {}.", suggestion(.name), known())]
pub struct UnknownFormat {
    name: String,
}

fn suggestion(name: &str) -> String {
    did_you_mean(nearest(name, Format::all().iter().map(|format| format.name())))
}

fn known() -> String {
    Format::all()
        .iter()
        .map(|format| format.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::all() {
            assert_eq!(Format::from_name(format.name()), Ok(*format));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        insta::assert_snapshot!(
            Format::from_name("moncake").unwrap_err(),
            @r#"Cannot use the format "moncake": there is none of that name. Did you mean mooncake_trace? Known formats: mooncake_trace, workload_trace."#
        );
        insta::assert_snapshot!(
            Format::from_name("csv").unwrap_err(),
            @r#"Cannot use the format "csv": there is none of that name. Known formats: mooncake_trace, workload_trace."#
        );
    }

    #[test]
    fn the_first_record_shows_its_format() {
        assert_eq!(
            Format::detect(r#"{"timestamp":0,"input_length":5}"#),
            Some(Format::MooncakeTrace)
        );
        assert_eq!(
            Format::detect("\u{feff}{\"messages\":[]}"),
            Some(Format::MooncakeTrace)
        );
        assert_eq!(
            Format::detect(r#"{"body":{},"timestamp":0}"#),
            Some(Format::WorkloadTrace)
        );
        assert_eq!(Format::detect(r#"{"timestamp":0}"#), None);
        assert_eq!(Format::detect("TIMESTAMP,ContextTokens"), None);
    }
}
