//! Times of day on dates, as ISO 8601 writes them and as logs do.
//!
//! A time without a zone is UTC, never the machine's own zone. Fractions keep nine digits and round the rest, half up.

use jiff::civil::{Date, ISOWeekDate, Weekday};

use crate::decimal::Decimal;

const NS_PER_SECOND: i128 = 1_000_000_000;

/// Nanoseconds since 1970 of a date with an optional time of day and zone.
///
/// Dates: `2025-01-15`, `20250115`, `2025-W03-3`, `2025W033`. Between date and time: `T`, `t` or one space. Times: `10:00`,
/// `10:00:00`, `1000`, `100000`, with a fraction of the second after `.` or `,`. Zones: `Z`, `z`, `+01:00`, `+0100`, `+01`,
/// none for UTC.
pub(crate) fn parse(text: &str) -> Result<i64, Iso8601Error> {
    if !text.is_ascii() {
        return Err(Iso8601Error::NotAscii);
    }
    let (date, time) = text
        .split_once(['T', 't', ' '])
        .map_or((text, None), |(date, time)| (date, Some(time)));
    let days = days_since_1970(parse_date(date)?);
    let within_day_ns = time.map_or(Ok(0), parse_time_and_zone)?;
    i64::try_from(days * 86_400 * NS_PER_SECOND + within_day_ns).map_err(|_| Iso8601Error::OutOfRange)
}

fn days_since_1970(date: Date) -> i128 {
    i128::from(date.duration_since(Date::constant(1970, 1, 1)).as_secs() / 86_400)
}

fn parse_date(text: &str) -> Result<Date, Iso8601Error> {
    if text.contains('W') {
        return parse_week_date(text);
    }
    let (year, month, day) = match text.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] => (&text[..4], &text[5..7], &text[8..]),
        [_, _, _, _, _, _, _, _] => (&text[..4], &text[4..6], &text[6..]),
        _ => return Err(Iso8601Error::Date),
    };
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    Date::new(year, narrow(month)?, narrow(day)?).map_err(|_| Iso8601Error::NoSuchDate)
}

/// `2025-W03-3` or `2025W033`; without a day, Monday.
fn parse_week_date(text: &str) -> Result<Date, Iso8601Error> {
    let (year, week, day) = match text.as_bytes() {
        [_, _, _, _, b'-', b'W', _, _, b'-', _] => (&text[..4], &text[6..8], &text[9..]),
        [_, _, _, _, b'-', b'W', _, _] => (&text[..4], &text[6..], "1"),
        [_, _, _, _, b'W', _, _, _] => (&text[..4], &text[5..7], &text[7..]),
        [_, _, _, _, b'W', _, _] => (&text[..4], &text[5..], "1"),
        _ => return Err(Iso8601Error::Date),
    };
    let (year, week, day) = (number(year)?, narrow(number(week)?)?, narrow(number(day)?)?);
    let weekday = Weekday::from_monday_one_offset(day).map_err(|_| Iso8601Error::NoSuchDate)?;
    ISOWeekDate::new(year, week, weekday)
        .map(ISOWeekDate::date)
        .map_err(|_| Iso8601Error::NoSuchDate)
}

/// Nanoseconds since the day's midnight in UTC; the zone's offset can take them out of the day.
fn parse_time_and_zone(text: &str) -> Result<i128, Iso8601Error> {
    let (time, offset_seconds) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (&text[..at], parse_zone(&text[at..])?),
        None => (text, 0),
    };
    let (time, fraction) = time
        .split_once(['.', ','])
        .map_or((time, None), |(time, rest)| (time, Some(rest)));
    let (hour, minute, second) = match time.as_bytes() {
        [_, _, b':', _, _] => (&time[..2], &time[3..], None),
        [_, _, b':', _, _, b':', _, _] => (&time[..2], &time[3..5], Some(&time[6..])),
        [_, _, _, _] => (&time[..2], &time[2..], None),
        [_, _, _, _, _, _] => (&time[..2], &time[2..4], Some(&time[4..])),
        _ => return Err(Iso8601Error::Time),
    };
    let fraction_ns = match (fraction, second) {
        (None, _) => 0,
        (Some(_), None) => return Err(Iso8601Error::Time),
        (Some(digits), Some(_)) => parse_fraction(digits)?,
    };
    let second = second.map_or(Ok(0), number)?;
    if second == 60 {
        return Err(Iso8601Error::LeapSecond);
    }
    let time = jiff::civil::Time::new(
        narrow(number(hour)?)?,
        narrow(number(minute)?)?,
        narrow(second)?,
        0,
    )
    .map_err(|_| Iso8601Error::NoSuchTime)?;
    let seconds = i128::from(time.hour()) * 3600 + i128::from(time.minute()) * 60 + i128::from(time.second());
    Ok((seconds - offset_seconds) * NS_PER_SECOND + fraction_ns)
}

fn parse_fraction(digits: &str) -> Result<i128, Iso8601Error> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Iso8601Error::Time);
    }
    let fraction = format!("0.{digits}");
    let scaled = Decimal::parse(&fraction).and_then(|fraction| fraction.scaled(9));
    scaled.map(|scaled| scaled.value).ok_or(Iso8601Error::Time)
}

fn parse_zone(text: &str) -> Result<i128, Iso8601Error> {
    if text.eq_ignore_ascii_case("z") {
        return Ok(0);
    }
    let (sign, digits) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return Err(Iso8601Error::Zone),
    };
    let (hours, minutes) = match digits.as_bytes() {
        [_, _] => (digits, "00"),
        [_, _, _, _] => (&digits[..2], &digits[2..]),
        [_, _, b':', _, _] => (&digits[..2], &digits[3..]),
        _ => return Err(Iso8601Error::Zone),
    };
    let parse = |part| number(part).map_err(|_| Iso8601Error::Zone);
    let (hours, minutes) = (parse(hours)?, parse(minutes)?);
    if hours > 23 || minutes > 59 {
        return Err(Iso8601Error::Zone);
    }
    Ok(sign * (i128::from(hours) * 3600 + i128::from(minutes) * 60))
}

/// At most four digits, and nothing but digits.
fn number(text: &str) -> Result<i16, Iso8601Error> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        .then(|| text.parse().ok())
        .flatten()
        .ok_or(Iso8601Error::Digits)
}

fn narrow(number: i16) -> Result<i8, Iso8601Error> {
    i8::try_from(number).map_err(|_| Iso8601Error::Digits)
}

/// Why a text is no ISO 8601 time. Prints a clause without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Iso8601Error {
    #[error("it has characters other than ASCII")]
    NotAscii,
    #[error("its date is neither YYYY-MM-DD nor YYYYMMDD")]
    Date,
    #[error("there is no such date")]
    NoSuchDate,
    #[error("its time is neither HH:MM, HH:MM:SS nor HHMMSS, with a fraction of the second at most")]
    Time,
    #[error("there is no such time of day")]
    NoSuchTime,
    #[error("a leap second names no point on the recorded clock")]
    LeapSecond,
    #[error("its zone is neither Z, +HH:MM, +HHMM nor +HH")]
    Zone,
    #[error("it has something other than digits where digits belong")]
    Digits,
    #[error("it lies outside the years 1677 to 2262, which nanoseconds in 64 bits reach")]
    OutOfRange,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// 2025-01-15T10:00:00Z.
    const INSTANT: i64 = 1_736_935_200 * SECOND;

    #[test]
    fn all_spellings_of_one_instant_are_equal() {
        for text in [
            "2025-01-15T10:00:00Z",
            "2025-01-15t10:00:00z",
            "2025-01-15 10:00:00",
            "2025-01-15T10:00:00",
            "2025-01-15T10:00",
            "2025-01-15T18:00:00+08:00",
            "2025-01-15T18:00:00+0800",
            "2025-01-15T18:00:00+08",
            "2025-01-15T04:30:00-05:30",
            "2025-01-16T00:00:00+14:00",
            "20250115T100000Z",
            "20250115 1000",
            "2025-01-15T10:00:00.000Z",
            "2025-01-15T10:00:00,0Z",
            "2025-W03-3T10:00:00Z",
            "2025W033T100000Z",
            "2025-01-15T09:59:59.9999999999Z",
        ] {
            assert_eq!(parse(text), Ok(INSTANT), "{text}");
        }
        assert_eq!(parse("2025-01-15"), Ok(INSTANT - 36_000 * SECOND));
        assert_eq!(parse("2025-W03"), Ok(INSTANT - (36_000 + 2 * 86_400) * SECOND));
    }

    #[test]
    fn fractions_are_kept_to_the_nanosecond() {
        let fraction = |text: &str| parse(&format!("2025-01-15T10:00:00{text}")).unwrap() - INSTANT;
        assert_eq!(fraction(".1Z"), 100_000_000);
        assert_eq!(fraction(".123456789Z"), 123_456_789);
        assert_eq!(fraction(",123456789+00:00"), 123_456_789);
        assert_eq!(fraction(".1234567894Z"), 123_456_789);
        assert_eq!(fraction(".1234567895Z"), 123_456_790);
        assert_eq!(
            fraction(".00000000000000000000000000000000000000000000000001Z"),
            0
        );
    }

    #[test]
    fn stamps_with_seven_digits_and_no_zone_are_utc() {
        let stamps = ["03.9799600", "03.9805000", "03.9811000", "03.9899600"];
        let times = stamps.map(|stamp| parse(&format!("2023-11-16 18:17:{stamp}")).unwrap());
        assert_eq!(times[0], 1_700_158_623_979_960_000);
        assert_eq!(
            times.map(|time| time - times[0]),
            [0, 540_000, 1_140_000, 10_000_000]
        );
        assert_eq!(
            parse("2024-05-10 00:00:00.009930+00:00").unwrap() % SECOND,
            9_930_000
        );
        assert!(parse("2024-05-10 00:00:00+00:00").is_ok());
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for (text, error) in [
            ("2024-02-30", Iso8601Error::NoSuchDate),
            ("2023-02-29T00:00:00Z", Iso8601Error::NoSuchDate),
            ("2025-13-01", Iso8601Error::NoSuchDate),
            ("2025-W54-1", Iso8601Error::NoSuchDate),
            ("2016-12-31T23:59:60Z", Iso8601Error::LeapSecond),
            ("2025-01-15T24:00:00", Iso8601Error::NoSuchTime),
            ("2025-01-15T10:60:00", Iso8601Error::NoSuchTime),
            ("2300-01-01", Iso8601Error::OutOfRange),
            ("0001-01-01", Iso8601Error::OutOfRange),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        assert!(parse("2024-02-29").is_ok());
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "T",
            "2025",
            "2025-01",
            "2025-1-5",
            "25-01-15",
            "2025/01/15",
            "2025-01-15T",
            "2025-01-15T10",
            "2025-01-15T10Z",
            "2025-01-15T1:00",
            "2025-01-15T10:00.5",
            "2025-01-15T10:00:00.",
            "2025-01-15T10:00:00.Z",
            "2025-01-15T10:00:00 Z",
            "2025-01-15T10:00:00+8",
            "2025-01-15T10:00:00+24:00",
            "2025-01-15T10:00:00+08:60",
            "2025-01-15T10:00:00+08:00:00",
            "2025-01-15T10:00:00ZZ",
            "2025-01-15T10:00:00 PM",
            "2025-01-15  10:00:00",
            "2025-01-15Z",
            "2025-01-15T10:00:00.1.2",
            "+025-01-15",
            "2025-01-15T+1:00:00",
            "２０２５-01-15",
            "Wed, 15 Jan 2025",
            "2025-01-15T10:00:00.5e1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
