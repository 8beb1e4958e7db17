//! Times and delays of records, as nanoseconds.

use std::fmt;

use crate::count::shortened;
use crate::decimal::Decimal;
use crate::iso8601::{self, Iso8601Error};
use crate::json::{self, Kind};

/// The unit of a number in a trace's time columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimestampUnit {
    /// Every unit, the longest first.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// The unit's symbol, as `timestampUnit` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    /// How many nanoseconds a unit is, as a power of ten.
    const fn power(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }
}

impl fmt::Display for TimestampUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// From here on (in seconds, the year 2286) a time is taken for one in another unit: today's time in milliseconds, read as
/// seconds, lies far beyond it.
const IMPLAUSIBLE_SECONDS: i128 = 10_000_000_000;
const NS_PER_SECOND: i128 = 1_000_000_000;

/// The time that a JSON value stands for: a number in `unit`. Digits finer than a nanosecond are rounded, half away from
/// zero.
pub(crate) fn from_number(value: &str, unit: TimestampUnit) -> Result<i64, TimestampError> {
    match Kind::of(value) {
        Kind::Number => decimal(value, unit),
        kind => Err(TimestampError::NotANumber { kind }),
    }
}

/// The time that a JSON value stands for: a number in `unit`, a string that holds such a number, or an ISO 8601 string.
/// A string of digits alone is a number and no date.
pub(crate) fn from_number_or_text(value: &str, unit: TimestampUnit) -> Result<i64, TimestampError> {
    match Kind::of(value) {
        Kind::Number => decimal(value, unit),
        Kind::String => {
            let text = json::string(value).ok_or(TimestampError::NotText)?;
            let text = text.trim_ascii();
            match Decimal::parse(text) {
                Some(_) => decimal(text, unit),
                None if is_not_finite(text) => Err(TimestampError::NotFinite {
                    text: text.to_owned(),
                }),
                None => iso8601::parse(text).map_err(|source| TimestampError::NotATime {
                    text: shortened(text),
                    source,
                }),
            }
        }
        kind => Err(TimestampError::NeitherNumberNorText { kind }),
    }
}

/// The delay that a JSON number in `unit` stands for.
pub(crate) fn delay_from_number(value: &str, unit: TimestampUnit) -> Result<u64, TimestampError> {
    let delay_ns = from_number(value, unit)?;
    u64::try_from(delay_ns).map_err(|_| TimestampError::Negative {
        text: shortened(value),
        unit,
    })
}

fn is_not_finite(text: &str) -> bool {
    let word = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    matches!(word.as_str(), "nan" | "inf" | "infinity")
}

fn decimal(text: &str, unit: TimestampUnit) -> Result<i64, TimestampError> {
    let implausible = |year, fits| TimestampError::Implausible {
        text: shortened(text),
        unit,
        year,
        fits,
    };
    let scaled = Decimal::parse(text).and_then(|number| number.scaled(unit.power()));
    let Some(ns) = scaled.map(|scaled| scaled.value) else {
        return Err(implausible(None, None));
    };
    if ns.abs() < IMPLAUSIBLE_SECONDS * NS_PER_SECOND {
        return i64::try_from(ns).map_err(|_| TimestampError::OutOfRange {
            text: shortened(text),
            unit,
        });
    }
    let fits = TimestampUnit::ALL
        .into_iter()
        .filter(|other| other.power() < unit.power())
        .find(|other| {
            ns.abs() / 10_i128.pow(unit.power() - other.power()) < IMPLAUSIBLE_SECONDS * NS_PER_SECOND
        });
    Err(implausible(Some(year_of(ns.div_euclid(NS_PER_SECOND))), fits))
}

/// The year that a time in seconds since 1970 lies in, by the calendar's 400-year cycle of 146,097 days.
fn year_of(seconds: i128) -> i128 {
    const SECONDS_PER_CYCLE: i128 = 146_097 * 86_400;
    let cycles = seconds.div_euclid(SECONDS_PER_CYCLE);
    let in_cycle = i64::try_from(seconds.rem_euclid(SECONDS_PER_CYCLE)).unwrap_or_default();
    let year =
        jiff::Timestamp::from_second(in_cycle).map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).year());
    cycles * 400 + year.map_or(1970, i128::from)
}

/// The times of a trace, for what they look like together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimesSeen {
    /// The earliest and the latest.
    range_ns: Option<(i64, i64)>,
}

impl TimesSeen {
    /// Takes a record's time in, if it has one.
    pub(crate) fn note(&mut self, time_ns: Option<i64>) {
        let Some(ns) = time_ns else { return };
        let (earliest, latest) = self.range_ns.unwrap_or((ns, ns));
        self.range_ns = Some((earliest.min(ns), latest.max(ns)));
    }

    /// Whether all numbers, read as milliseconds, lie from 1e9 to 1e10: as seconds since 1970 they are dates from 2001
    /// on, as milliseconds a trace that begins eleven days after its own zero. Finer units reach such numbers within
    /// hours.
    pub(crate) fn look_like_seconds(self, unit: TimestampUnit) -> bool {
        const FROM_NS: i64 = 1_000_000_000 * 1_000_000;
        const TO_NS: i64 = 10 * FROM_NS;
        let is_between = |(earliest, latest): (i64, i64)| earliest >= FROM_NS && latest < TO_NS;
        unit == TimestampUnit::Milliseconds && self.range_ns.is_some_and(is_between)
    }
}

/// Why a value is no time. Prints what follows the column's name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimestampError {
    #[error("is {kind}. Write a number")]
    NotANumber { kind: Kind },
    #[error("is {kind}. Write a number or an ISO 8601 string")]
    NeitherNumberNorText { kind: Kind },
    #[error("is a string with escapes that name no character. Write a number or an ISO 8601 string")]
    NotText,
    #[error("is {text:?}. Remove the record or write a finite number")]
    NotFinite { text: String },
    #[error("is {text} {unit}, {}. {}", where_it_lies(*.year), what_to_set(*.unit, *.fits))]
    Implausible {
        text: String,
        unit: TimestampUnit,
        year: Option<i128>,
        fits: Option<TimestampUnit>,
    },
    #[error(
        "is {text} {unit}, which nanoseconds in 64 bits do not reach (years 1677 to 2262). Check the value and dataset.options.timestampUnit"
    )]
    OutOfRange { text: String, unit: TimestampUnit },
    #[error("is {text} {unit}. A delay cannot be negative")]
    Negative { text: String, unit: TimestampUnit },
    #[error(
        "is {text:?}, which is not a time: {source}. Write a number or ISO 8601 such as 2025-01-15T10:00:00Z"
    )]
    NotATime { text: String, source: Iso8601Error },
}

fn where_it_lies(year: Option<i128>) -> String {
    year.map_or_else(
        || "beyond any calendar".to_owned(),
        |year| format!("which is in the year {year}"),
    )
}

fn what_to_set(unit: TimestampUnit, fits: Option<TimestampUnit>) -> String {
    match fits {
        Some(fits) => format!("If the column holds {fits}, set dataset.options.timestampUnit: {fits}"),
        None => {
            format!("No dataset.options.timestampUnit finer than {unit} makes it plausible: check the value")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn numbers_are_exact_in_every_unit() {
        let seconds = |value| from_number(value, TimestampUnit::Seconds).unwrap();
        assert_eq!(seconds("1700000000.123456789"), 1_700_000_000_123_456_789);
        assert_eq!(seconds("-1.5"), -1_500_000_000);
        assert_eq!(seconds("1e-9"), 1);
        assert_eq!(seconds("0.0000000005"), 1);
        assert_eq!(
            from_number("3536999", TimestampUnit::Milliseconds),
            Ok(3_536_999_000_000)
        );
        assert_eq!(
            from_number("1700000000000001", TimestampUnit::Microseconds),
            Ok(1_700_000_000_000_001_000)
        );
        assert_eq!(
            from_number("1700000000000000001", TimestampUnit::Nanoseconds),
            Ok(1_700_000_000_000_000_001)
        );
    }

    #[test]
    fn an_epoch_in_another_unit_is_refused_with_the_unit_that_fits() {
        let message = |value, unit| from_number(value, unit).unwrap_err().to_string();
        assert_eq!(
            message("1700000000000", TimestampUnit::Seconds),
            "is 1700000000000 s, which is in the year 55840. If the column holds ms, set \
             dataset.options.timestampUnit: ms"
        );
        assert!(message("1700000000000000", TimestampUnit::Seconds).ends_with("timestampUnit: us"));
        assert!(message("1700000000000000000", TimestampUnit::Seconds).ends_with("timestampUnit: ns"));
        assert!(message("1700000000000000000", TimestampUnit::Milliseconds).ends_with("timestampUnit: ns"));
        assert!(message("-1700000000000", TimestampUnit::Seconds).contains("in the year -"));
        assert_eq!(
            message("1e400", TimestampUnit::Seconds),
            "is 1e400 s, beyond any calendar. No dataset.options.timestampUnit finer than s makes it plausible: \
             check the value"
        );
    }

    #[test]
    fn the_bounds_are_2262_for_64_bits_and_2286_for_plausibility() {
        assert_eq!(
            from_number("9223372036.854775807", TimestampUnit::Seconds),
            Ok(i64::MAX)
        );
        let of = |value| from_number(value, TimestampUnit::Seconds).unwrap_err();
        assert!(matches!(
            of("9223372036.854775808"),
            TimestampError::OutOfRange { .. }
        ));
        assert!(matches!(of("9999999999"), TimestampError::OutOfRange { .. }));
        assert!(matches!(
            of("10000000000"),
            TimestampError::Implausible { year: Some(2286), .. }
        ));
    }

    #[test]
    fn strings_hold_numbers_or_times() {
        let of = |value| from_number_or_text(value, TimestampUnit::Seconds);
        assert_eq!(of("\"1700000000.5\""), Ok(1_700_000_000_500_000_000));
        assert_eq!(of("\" 1e3 \""), Ok(1000 * SECOND));
        assert_eq!(of("\"1970-01-01T00:00:01Z\""), Ok(SECOND));
        assert_eq!(of("\"20250115\""), Ok(20_250_115 * SECOND));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let of = |value| from_number_or_text(value, TimestampUnit::Seconds).unwrap_err();
        for value in ["\"nan\"", "\"NaN\"", "\"inf\"", "\"-Infinity\""] {
            assert!(matches!(of(value), TimestampError::NotFinite { .. }), "{value}");
        }
        for value in ["\"1_000\"", "\"\"", "\"١٢٣\"", "\"soon\"", "\"0x10\""] {
            assert!(matches!(of(value), TimestampError::NotATime { .. }), "{value}");
        }
        for value in ["true", "[1]", "{}"] {
            assert!(
                matches!(of(value), TimestampError::NeitherNumberNorText { .. }),
                "{value}"
            );
        }
        assert!(matches!(
            from_number("\"5\"", TimestampUnit::Seconds),
            Err(TimestampError::NotANumber { .. })
        ));
    }

    #[test]
    fn only_times_that_all_look_like_seconds_are_taken_for_them() {
        let looks = |values: &[&str]| {
            let mut times = TimesSeen::default();
            times.note(None);
            for value in values {
                times.note(from_number(value, TimestampUnit::Milliseconds).ok());
            }
            times.look_like_seconds(TimestampUnit::Milliseconds)
        };
        assert!(looks(&["1000000000", "9999999999.9"]));
        assert!(!looks(&[]));
        assert!(!looks(&["999999999", "1700000000"]));
        assert!(!looks(&["1700000000", "10000000000"]));
        assert!(!looks(&["-1700000000"]));
    }

    #[test]
    fn delays_are_not_negative() {
        assert_eq!(
            delay_from_number("1.5", TimestampUnit::Milliseconds),
            Ok(1_500_000)
        );
        assert_eq!(delay_from_number("-0.0", TimestampUnit::Milliseconds), Ok(0));
        assert!(matches!(
            delay_from_number("-1", TimestampUnit::Milliseconds),
            Err(TimestampError::Negative { .. })
        ));
    }
}
