//! What the headers of an answer say of a file.

use http::header::{CONTENT_ENCODING, CONTENT_RANGE, ETAG, HeaderName, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::remote::Span;
use crate::version::Version;

/// The value of `Range` that asks for a part.
pub(crate) fn range(span: Span) -> String {
    match span.length {
        Some(length) => format!(
            "bytes={}-{}",
            span.from,
            span.from.saturating_add(length).saturating_sub(1)
        ),
        None => format!("bytes={}-", span.from),
    }
}

/// `Content-Range: bytes <from>-<to>/<total>`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) from: u64,
    /// Included.
    to: u64,
    pub(crate) total: Option<u64>,
}

impl ContentRange {
    /// `None` when there is none that makes sense.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = text(headers, CONTENT_RANGE)?;
        let (unit, range) = text.split_once(' ')?;
        let (part, total) = range.trim().split_once('/')?;
        let (from, to) = part.split_once('-')?;
        let range = Self {
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            total: match total {
                "*" => None,
                total => Some(total.parse().ok()?),
            },
        };
        let makes_sense = unit.eq_ignore_ascii_case("bytes")
            && range.from <= range.to
            && range.total.is_none_or(|total| range.to < total);
        makes_sense.then_some(range)
    }

    pub(crate) fn length(&self) -> u64 {
        (self.to - self.from).saturating_add(1)
    }
}

/// The version that an answer is of: its entity tag, else its date together with the length of the file.
pub(super) fn version(headers: &HeaderMap, length: Option<u64>) -> Option<Version> {
    if let Some(tag) = etag(headers) {
        return Some(Version::ETag(tag));
    }
    Some(Version::LastModified {
        time: last_modified(headers)?,
        length: length?,
    })
}

/// Whether an answer is of another version than the one that is wanted.
///
/// One that had to be of this version (`is_bound`) may leave out what it would only repeat (RFC 9110, 15.3.7).
pub(super) fn contradicts(wanted: &Version, headers: &HeaderMap, total: Option<u64>, is_bound: bool) -> bool {
    match wanted {
        Version::ETag(wanted) => etag(headers).map_or(!is_bound, |tag| tag != *wanted),
        Version::LastModified { time, length } => {
            last_modified(headers).map_or(!is_bound, |modified| modified != *time)
                || total.is_some_and(|total| total != *length)
        }
        Version::Commit(_) | Version::VersionId(_) | Version::Listing(_) => true,
    }
}

/// The value of `If-Range` that makes a server send a part of exactly this version, where there is one.
pub(super) fn if_range(version: &Version) -> Option<HeaderValue> {
    let text = match version {
        // A weak tag does not promise the same bytes, and must not stand there (RFC 9110, 13.1.5).
        Version::ETag(tag) => tag.starts_with('"').then(|| tag.clone()),
        Version::LastModified { time, .. } => rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(time)
            .ok(),
        Version::Commit(_) | Version::VersionId(_) | Version::Listing(_) => None,
    }?;
    HeaderValue::from_str(&text).ok()
}

/// The entity tag as it was sent.
fn etag(headers: &HeaderMap) -> Option<String> {
    let tag = text(headers, ETAG)?;
    (!tag.is_empty()).then(|| tag.to_owned())
}

fn last_modified(headers: &HeaderMap) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new()
        .parse_timestamp(text(headers, LAST_MODIFIED)?)
        .ok()
}

/// Whether what arrives is what is stored, or something that we can undo: gzip and zstd are told by content, whoever
/// applied them.
pub(super) fn has_usable_encoding(headers: &HeaderMap) -> bool {
    let is_usable = |encoding: &str| {
        matches!(
            encoding.trim().to_ascii_lowercase().as_str(),
            "" | "identity" | "gzip" | "x-gzip" | "zstd" | "aws-chunked"
        )
    };
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .map(|value| value.to_str().unwrap_or("unreadable"))
        .all(|value| value.split(',').all(is_usable))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(fields: &[(HeaderName, &str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    fn date(text: &str) -> Version {
        Version::LastModified {
            time: text.parse().unwrap(),
            length: 7,
        }
    }

    #[test]
    fn ranges_are_written_with_their_last_byte() {
        let range = |from, length| range(Span { from, length });
        assert_eq!(range(0, Some(65536)), "bytes=0-65535");
        assert_eq!(range(10, None), "bytes=10-");
    }

    #[test]
    fn content_ranges_are_read_or_refused() {
        let of = |text| ContentRange::of(&with(&[(CONTENT_RANGE, text)]));
        let range = of("bytes 10-19/100").unwrap();
        assert_eq!((range.from, range.length(), range.total), (10, 10, Some(100)));
        assert_eq!(of("Bytes 0-0/*").unwrap().total, None);
        for text in [
            "",
            "bytes */100",
            "bytes 10-9/100",
            "bytes 0-100/100",
            "bytes 0-9",
            "lines 0-9/100",
            "bytes -9/100",
            "bytes 0-x/100",
            "bytes 99999999999999999999-99999999999999999999/*",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_content_range_breaks_the_parser(text in "(bytes )?[0-9*/ -]{0,50}") {
            if let Some(range) = ContentRange::of(&with(&[(CONTENT_RANGE, &text)])) {
                prop_assert!(range.length() >= 1);
            }
        }
    }

    #[test]
    fn a_version_is_the_tag_else_the_date_with_the_length() {
        let date_text = "Sat, 01 Aug 2026 12:00:00 GMT";
        let both = with(&[(ETAG, "W/\"a\""), (LAST_MODIFIED, date_text)]);
        assert_eq!(version(&both, Some(7)), Some(Version::ETag("W/\"a\"".to_owned())));
        let dated = with(&[(LAST_MODIFIED, date_text)]);
        assert_eq!(version(&dated, Some(7)), Some(date("2026-08-01T12:00:00Z")));
        assert_eq!(version(&dated, None), None);
        assert_eq!(version(&with(&[(LAST_MODIFIED, "yesterday")]), Some(7)), None);
        assert_eq!(version(&with(&[(ETAG, "")]), Some(7)), None);
        assert_eq!(version(&HeaderMap::new(), Some(7)), None);
    }

    #[test]
    fn only_what_promises_the_same_bytes_binds_a_part() {
        let tag = |text: &str| if_range(&Version::ETag(text.to_owned()));
        assert_eq!(tag("\"a\"").unwrap(), "\"a\"");
        assert_eq!(tag("W/\"a\""), None);
        assert_eq!(tag("a"), None);
        assert_eq!(
            if_range(&date("2026-08-01T12:00:00Z")).unwrap(),
            "Sat, 01 Aug 2026 12:00:00 GMT"
        );
    }

    #[test]
    fn another_tag_date_or_length_is_another_version() {
        let tagged = Version::ETag("\"a\"".to_owned());
        let answer = |tag| with(&[(ETAG, tag)]);
        assert!(!contradicts(&tagged, &answer("\"a\""), None, false));
        assert!(contradicts(&tagged, &answer("\"b\""), None, true));
        assert!(contradicts(&tagged, &answer("W/\"a\""), None, false));
        assert!(contradicts(&tagged, &HeaderMap::new(), None, false));
        assert!(!contradicts(&tagged, &HeaderMap::new(), None, true));

        let dated = date("2026-08-01T12:00:00Z");
        let answer = |text| with(&[(LAST_MODIFIED, text)]);
        let same = answer("Sat, 01 Aug 2026 12:00:00 GMT");
        assert!(!contradicts(&dated, &same, Some(7), false));
        assert!(!contradicts(&dated, &same, None, false));
        assert!(contradicts(&dated, &same, Some(8), false));
        assert!(contradicts(
            &dated,
            &answer("Sat, 01 Aug 2026 12:00:01 GMT"),
            Some(7),
            true
        ));
        assert!(contradicts(&dated, &HeaderMap::new(), Some(7), false));
    }
}
