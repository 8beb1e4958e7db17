//! How long a presigned URL lives.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use url::form_urlencoded;

/// When the query of a presigned URL says that it expires; `None` when it does not say so in a way that we know.
///
/// Known are the signatures of AWS (`X-Amz-Date` + `X-Amz-Expires`), of Google (`X-Goog-Date` + `X-Goog-Expires`), of
/// Azure (`se`), and the older ones with seconds since 1970 (`Expires`).
pub(super) fn expiry(query: &str) -> Option<Timestamp> {
    let value = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    };
    let signed_for = |date: &str, seconds: &str| {
        let signed = basic_time(&value(date)?)?;
        let lifetime = SignedDuration::from_secs(value(seconds)?.parse().ok()?);
        signed.checked_add(lifetime).ok()
    };
    signed_for("X-Amz-Date", "X-Amz-Expires")
        .or_else(|| signed_for("X-Goog-Date", "X-Goog-Expires"))
        .or_else(|| azure_time(&value("se")?))
        .or_else(|| Timestamp::from_second(value("Expires")?.parse().ok()?).ok())
}

/// `20260801T120000Z`
fn basic_time(text: &str) -> Option<Timestamp> {
    in_utc(DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?)
}

/// `2026-08-01T12:00:00Z`, or a date alone, which stands for its start.
fn azure_time(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| {
        in_utc(
            text.parse::<Date>()
                .ok()?
                .to_datetime(jiff::civil::Time::midnight()),
        )
    })
}

fn in_utc(time: DateTime) -> Option<Timestamp> {
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
