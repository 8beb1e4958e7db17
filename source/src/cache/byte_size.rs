//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A size in bytes. Parses `1048576`, `50GiB`, `1.5 TB` and the like, in any case; prints the largest binary unit that
/// leaves a number of at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// A text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot use {0:?} as a size: it is not a number of bytes. Write one, with a unit if you like, such as 50GiB."
)]
pub struct ByteSizeError(String);

const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
const DECIMAL: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.trim())
            .map(Self)
            .ok_or_else(|| ByteSizeError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // Nine digits after the point are exact to the byte for all that a person writes, and fit.
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let unit = u128::from(unit_bytes(unit)?);
    let parts = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole = u128::from(whole.parse::<u64>().ok()?) * unit;
    let fraction = u128::from(fraction.parse::<u64>().ok()?) * unit / parts;
    u64::try_from(whole + fraction).ok()
}

/// How many bytes the unit stands for.
fn unit_bytes(unit: &str) -> Option<u64> {
    let power = |units: [&str; 5]| units.iter().position(|known| known.eq_ignore_ascii_case(unit));
    let size = |base: u64, power: usize| u32::try_from(power).ok().map(|power| base.pow(power));
    if unit.is_empty() {
        return Some(1);
    }
    match (power(BINARY), power(DECIMAL)) {
        (Some(power), _) => size(1024, power),
        (None, Some(power)) => size(1000, power),
        (None, None) => None,
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = (1..BINARY.len())
            .rev()
            .find(|power| self.0 >> (10 * power) > 0)
            .unwrap_or(0);
        if power == 0 {
            return write!(f, "{} B", self.0);
        }
        let unit = 1_u64 << (10 * power);
        write!(f, "{:.2} {}", self.0 as f64 / unit as f64, BINARY[power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("7", 7),
            ("7B", 7),
            ("50GiB", 50 << 30),
            (" 1.5 tib ", 3 << 39),
            ("2kb", 2000),
            ("0.5 MB", 500_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for text in [
            "",
            "GiB",
            "-1",
            "1e9",
            "1..5",
            "1.",
            "5 GiBs",
            "50 G",
            "99999999TiB",
            "0x10",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_printed_for_people() {
        let shown = [0, 1023, 1024, 1536, (1 << 30) - 1, 50 << 30, u64::MAX].map(|n| ByteSize(n).to_string());
        assert_eq!(
            shown,
            [
                "0 B",
                "1023 B",
                "1.00 KiB",
                "1.50 KiB",
                "1024.00 MiB",
                "50.00 GiB",
                "16777216.00 TiB"
            ]
        );
    }
}
