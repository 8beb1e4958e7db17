//! What can be said about how a trace is read.

use std::fmt;
use std::num::NonZeroU32;

use crate::format::Format;
use crate::headers::HeaderName;
use crate::timestamp::TimestampUnit;

/// How a trace is read. `None` leaves the format's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Tokens that one hash id stands for.
    pub block_size: Option<NonZeroU32>,
    /// What numbers in time columns mean.
    pub timestamp_unit: Option<TimestampUnit>,
    /// Recorded credential headers that are replayed all the same.
    pub keep_headers: Vec<HeaderName>,
    /// What happens to a column that the format does not know.
    pub unknown_columns: UnknownColumns,
}

impl Options {
    /// Checks that `format` takes the options that are given.
    ///
    /// # Errors
    ///
    /// Names the options that it does not take, and those that it does.
    pub fn check(&self, format: Format) -> Result<(), OptionsError> {
        let given = [
            (OptionName::BlockSize, self.block_size.is_some()),
            (OptionName::TimestampUnit, self.timestamp_unit.is_some()),
            (OptionName::KeepHeaders, !self.keep_headers.is_empty()),
            (
                OptionName::UnknownColumns,
                self.unknown_columns != UnknownColumns::default(),
            ),
        ];
        let refused: Vec<OptionName> = given
            .into_iter()
            .filter_map(|(option, is_given)| is_given.then_some(option))
            .filter(|option| !format.options().contains(option))
            .collect();
        if refused.is_empty() {
            Ok(())
        } else {
            Err(OptionsError { format, refused })
        }
    }

    pub(crate) fn unit(&self, format: Format) -> TimestampUnit {
        self.timestamp_unit.unwrap_or(format.default_timestamp_unit())
    }
}

/// What happens to a column that the format does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownColumns {
    /// The trace is refused.
    #[default]
    Refuse,
    /// It is counted and left out.
    Ignore,
}

/// An option of [`Options`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionName {
    /// [`Options::block_size`].
    BlockSize,
    /// [`Options::timestamp_unit`].
    TimestampUnit,
    /// [`Options::keep_headers`].
    KeepHeaders,
    /// [`Options::unknown_columns`].
    UnknownColumns,
}

impl OptionName {
    /// The name under `dataset.options`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockSize => "blockSize",
            Self::TimestampUnit => "timestampUnit",
            Self::KeepHeaders => "keepHeaders",
            Self::UnknownColumns => "unknownColumns",
        }
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Options that the format does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{format} does not take {}. Remove it from dataset.options; {format} takes {}", listed(.refused), listed(.format.options()))]
pub struct OptionsError {
    /// The format.
    pub format: Format,
    /// What it does not take.
    pub refused: Vec<OptionName>,
}

fn listed(options: &[OptionName]) -> String {
    options
        .iter()
        .map(|option| option.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_the_format_does_not_take_is_refused_by_name() {
        let options = Options {
            block_size: NonZeroU32::new(16),
            ..Options::default()
        };
        assert_eq!(options.check(Format::MooncakeTrace), Ok(()));
        insta::assert_snapshot!(
            options.check(Format::WorkloadTrace).unwrap_err(),
            @"workload_trace does not take blockSize. Remove it from dataset.options; workload_trace takes timestampUnit, keepHeaders, unknownColumns"
        );
    }

    #[test]
    fn headers_are_kept_only_where_there_are_any() {
        let keep_headers = vec![HeaderName::parse("Cookie").unwrap()];
        let options = Options {
            keep_headers,
            unknown_columns: UnknownColumns::Ignore,
            ..Options::default()
        };
        assert_eq!(options.check(Format::WorkloadTrace), Ok(()));
        assert_eq!(
            options.check(Format::MooncakeTrace).unwrap_err().refused,
            [OptionName::KeepHeaders]
        );
    }
}
