//! Lengths of time as people write them: `500ms`, `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// A length of time, written as in Kubernetes: one or more decimal numbers, each with a unit, that are added up
/// (`500ms`, `1.5s`, `1h30m`). Units: `ns`, `us` (or `µs`), `ms`, `s`, `m`, `h`.
///
/// A number without a unit is refused everywhere, zero too: nobody can tell 30 seconds from 30 milliseconds.
/// There are no negative ones, and the longest is 2^64 − 1 nanoseconds (about 584 years). Fractions of a nanosecond
/// are refused rather than rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(Duration);

/// Why a text is no [`TimeSpan`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeSpanError {
    /// Nothing at all.
    #[error("is empty: write a duration such as 30s")]
    Empty,
    /// A number without a unit, as text or as a YAML number.
    #[error("has no unit: write {0}s or {0}ms")]
    NoUnit(String),
    /// A sign.
    #[error("is negative: a duration is 0s or more")]
    Negative,
    /// A unit that is not known.
    #[error("has the unknown unit \"{0}\": the units are ns, us, ms, s, m and h")]
    UnknownUnit(String),
    /// Anything else.
    #[error("is not a duration: write it like 500ms, 1.5s or 1h30m")]
    Malformed,
    /// A part of a nanosecond.
    #[error("is finer than a nanosecond")]
    TooFine,
    /// More than 2^64 − 1 nanoseconds.
    #[error("is too long: the longest duration is about 584 years")]
    TooLong,
}

impl TimeSpan {
    /// What every text of a time span matches; read by the API server.
    pub const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+$";

    /// The length.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Whether it is 0s.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

/// Lengths over 2^64 − 1 nanoseconds become that length.
impl From<Duration> for TimeSpan {
    fn from(duration: Duration) -> Self {
        Self(duration.min(Duration::from_nanos(u64::MAX)))
    }
}

impl From<TimeSpan> for Duration {
    fn from(span: TimeSpan) -> Self {
        span.0
    }
}

impl FromStr for TimeSpan {
    type Err = TimeSpanError;

    fn from_str(text: &str) -> Result<Self, TimeSpanError> {
        if text.is_empty() {
            return Err(TimeSpanError::Empty);
        }
        if text.starts_with('-') {
            return Err(TimeSpanError::Negative);
        }
        if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.parse::<f64>().is_ok() {
            return Err(TimeSpanError::NoUnit(text.to_owned()));
        }
        let mut rest = text;
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = Part::split(rest)?;
            total = total
                .checked_add(part.nanoseconds()?)
                .ok_or(TimeSpanError::TooLong)?;
            rest = after;
        }
        Ok(Self(Duration::from_nanos(total)))
    }
}

/// One number with its unit.
struct Part<'a> {
    whole: &'a str,
    fraction: &'a str,
    unit: Unit,
}

impl<'a> Part<'a> {
    /// Takes the first part off a text.
    fn split(text: &'a str) -> Result<(Self, &'a str), TimeSpanError> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(rest) => match split_digits(rest) {
                ("", _) => return Err(TimeSpanError::Malformed),
                split => split,
            },
        };
        if whole.is_empty() {
            return Err(TimeSpanError::Malformed);
        }
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let unit = match name {
            "" => return Err(TimeSpanError::Malformed),
            name => Unit::named(name).ok_or_else(|| TimeSpanError::UnknownUnit(name.to_owned()))?,
        };
        Ok((
            Self {
                whole,
                fraction,
                unit,
            },
            rest,
        ))
    }

    /// Exact: no float is involved.
    fn nanoseconds(&self) -> Result<u64, TimeSpanError> {
        let scale = self.unit.nanoseconds();
        let whole: u64 = self.whole.parse().map_err(|_| TimeSpanError::TooLong)?;
        let mut total = whole.checked_mul(scale).ok_or(TimeSpanError::TooLong)?;
        let fraction = self.fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            total = total
                .checked_add(fraction_of(fraction, scale)?)
                .ok_or(TimeSpanError::TooLong)?;
        }
        Ok(total)
    }
}

/// `0.<digits>` times `scale`.
fn fraction_of(digits: &str, scale: u64) -> Result<u64, TimeSpanError> {
    // The finest scale that counts: an hour has 3.6 × 10^12 ns, whose multiples by 10^-13 and less are no whole number
    // unless more zeros follow, and those are trimmed.
    let power = u32::try_from(digits.len())
        .ok()
        .and_then(|length| 10_u128.checked_pow(length));
    let (Ok(value), Some(power)) = (digits.parse::<u128>(), power) else {
        return Err(TimeSpanError::TooFine);
    };
    let scaled = value
        .checked_mul(u128::from(scale))
        .ok_or(TimeSpanError::TooFine)?;
    if scaled % power != 0 {
        return Err(TimeSpanError::TooFine);
    }
    u64::try_from(scaled / power).map_err(|_| TimeSpanError::TooLong)
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[derive(Clone, Copy)]
enum Unit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ns" => Self::Nanosecond,
            // The micro sign and the Greek letter mu look the same.
            "us" | "\u{b5}s" | "\u{3bc}s" => Self::Microsecond,
            "ms" => Self::Millisecond,
            "s" => Self::Second,
            "m" => Self::Minute,
            "h" => Self::Hour,
            _ => return None,
        })
    }

    const fn nanoseconds(self) -> u64 {
        match self {
            Self::Nanosecond => 1,
            Self::Microsecond => 1_000,
            Self::Millisecond => 1_000_000,
            Self::Second => 1_000_000_000,
            Self::Minute => 60_000_000_000,
            Self::Hour => 3_600_000_000_000,
        }
    }
}

/// The shortest text that reads well: `1h30m`, `1.5s`, `500ms`.
impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let nanoseconds = u64::from(self.0.subsec_nanos());
        if seconds == 0 {
            return match nanoseconds {
                0 => f.write_str("0s"),
                1..1_000 => write!(f, "{nanoseconds}ns"),
                1_000..1_000_000 => write_decimal(f, nanoseconds, 1_000, "us"),
                _ => write_decimal(f, nanoseconds, 1_000_000, "ms"),
            };
        }
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if seconds > 0 || nanoseconds > 0 {
            write_decimal(f, seconds * 1_000_000_000 + nanoseconds, 1_000_000_000, "s")?;
        }
        Ok(())
    }
}

/// `value / scale` with no more decimals than it takes; `scale` is a power of ten.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, scale: u64, unit: &str) -> fmt::Result {
    let (whole, mut rest) = (value / scale, value % scale);
    write!(f, "{whole}")?;
    if rest > 0 {
        f.write_str(".")?;
    }
    let mut place = scale;
    while rest > 0 {
        place /= 10;
        write!(f, "{}", rest / place)?;
        rest %= place;
    }
    f.write_str(unit)
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeSpanVisitor)
    }
}

struct TimeSpanVisitor;

impl Visitor<'_> for TimeSpanVisitor {
    type Value = TimeSpan;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 500ms or 1h30m")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TimeSpan, E> {
        text.parse()
            .map_err(|error| E::custom(format_args!("\"{text}\" {error}")))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<TimeSpan, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<TimeSpan, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<TimeSpan, E> {
        self.visit_str(&number.to_string())
    }
}

impl JsonSchema for TimeSpan {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeSpan".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "duration",
            "pattern": Self::PATTERN,
            "maxLength": 64,
            "example": "1m30s",
        })
    }
}

/// Says how durations are written in the description of every field that is one.
pub(crate) fn describe_durations(schema: &mut Schema) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    let durations = fields.into_iter().flat_map(|fields| fields.values_mut());
    for field in durations.filter(|field| field.get("format").is_some_and(|format| format == "duration")) {
        if let Some(Value::String(description)) = field.get_mut("description") {
            description.push_str(
                "\nA duration with its unit, such as 500ms or 1h30m; a number without one is refused.",
            );
        }
    }
}

#[cfg(test)]
mod tests;
