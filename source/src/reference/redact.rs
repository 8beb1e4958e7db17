//! What may be shown of a reference: everything but its credentials.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use reprise_contract::credentials::is_credential_name;

/// Stands where a credential was.
pub(crate) const REDACTED: &str = "<redacted>";

/// The same, as it stands in a URL that is well formed.
pub(super) const ENCODED_MARKER: &str = "%3Credacted%3E";

/// Names are decoded until nothing changes, but not for ever: each round undoes one layer of encoding.
const MAX_LAYERS: usize = 8;

/// Replaces user-info and the values of credential parameters. Whatever is not a URL stays as it is, unless it has
/// parameters that look like credentials.
pub(crate) fn redact(text: &str) -> String {
    let start = authority_start(text);
    let end = text[start..].find('/').map_or(text.len(), |at| start + at);
    without(text, user_info(text, start, end))
}

/// [`redact`] for a text that is no URL that we accept. Where the user-info of such a text ends is anyone's guess, so
/// everything up to the last `@` goes.
pub(crate) fn redact_refused(text: &str) -> String {
    without(text, user_info(text, authority_start(text), text.len()))
}

/// [`redact`] for a text that starts with `hf://` or `s3://`, and whether it holds a credential. Such a text has no
/// user-info, and its first `names` parts have no colon: where they have one, everything up to the last `@` goes.
pub(super) fn redact_store_path(text: &str, names: usize) -> (String, bool) {
    let start = authority_start(text);
    let has_colon = text[start..]
        .split('/')
        .take(names)
        .any(|part| part.contains(':'));
    let shown = if has_colon {
        redact_refused(text)
    } else {
        redact(text)
    };
    let holds_credential = shown != escape_controls(text);
    (shown, holds_credential)
}

/// Whether the query of a URL carries a credential.
pub(super) fn is_credential_query(query: &str) -> bool {
    query
        .split('&')
        .any(|parameter| credential_value(parameter).is_some())
}

/// Whether a credential was taken out of a text.
pub(super) fn is_marked(text: &str) -> bool {
    markers(&text.to_ascii_lowercase()).next().is_some()
}

/// Writes all markers in the way in which we write them: some tools encode them, and not all in capitals.
pub(super) fn mark(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut end = 0;
    for marker in markers(&text.to_ascii_lowercase()) {
        marked.push_str(&text[end..marker.start]);
        marked.push_str(REDACTED);
        end = marker.end;
    }
    marked + &text[end..]
}

/// Where the markers of a text are that is in lower case.
fn markers(lower: &str) -> impl Iterator<Item = Range<usize>> {
    lower.match_indices("redacted").filter_map(|(at, word)| {
        let before = lower[..at]
            .strip_suffix('<')
            .or_else(|| lower[..at].strip_suffix("%3c"))?;
        let after = &lower[at + word.len()..];
        let after = after.strip_prefix('>').or_else(|| after.strip_prefix("%3e"))?;
        Some(before.len()..lower.len() - after.len())
    })
}

/// `text` with the marker in place of `hidden` and of all values of credential parameters.
fn without(text: &str, hidden: Option<Range<usize>>) -> String {
    let mut ranges = credential_values(text);
    ranges.extend(hidden);
    ranges.sort_by_key(|range| range.start);
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        if range.start >= end {
            shown.push_str(&text[end..range.start]);
            shown.push_str(REDACTED);
        }
        end = end.max(range.end);
    }
    shown.push_str(&text[end..]);
    escape_controls(&shown)
}

/// What stands before the last `@` of an authority.
fn user_info(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let at = text[start..end].rfind('@')?;
    (start > 0).then_some(start..start + at)
}

/// A name with a line end in it must not look like two lines of a log.
fn escape_controls(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut shown, c| {
            if c.is_control() {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
            shown
        })
}

/// Where a host could stand: after `:/`, `://` and so on; 0 when there is none.
fn authority_start(text: &str) -> usize {
    text.find(":/").map_or(0, |colon| {
        let after = &text[colon + 1..];
        text.len() - after.trim_start_matches('/').len()
    })
}

/// Where the values of credential parameters are. Parameters start at the first `?`, and to be safe at the first `#`,
/// `;` or `&` as well; `&` parts them.
fn credential_values(text: &str) -> Vec<Range<usize>> {
    let mut start = text.find(['?', '#', ';', '&']).unwrap_or(text.len());
    let mut values = Vec::new();
    for parameter in text[start..].split_inclusive('&') {
        let length = parameter.trim_end_matches('&').len();
        if let Some(value) = credential_value(&parameter[..length]) {
            values.push(start + value..start + length);
        }
        start += parameter.len();
    }
    values
}

/// Where the value of the first credential in a parameter begins. It ends with the parameter: a value may hold any other
/// character.
fn credential_value(parameter: &str) -> Option<usize> {
    let mut start = 0;
    for piece in parameter.split_inclusive(['?', '#', ';']) {
        if let Some((name, value)) = piece.split_once('=')
            && (is_credential(name) || holds_credential(&decode(value)))
        {
            return Some(start + name.len() + 1);
        }
        start += piece.len();
    }
    None
}

/// Whether a decoded value is itself something with a credential, such as a presigned URL.
fn holds_credential(value: &str) -> bool {
    let start = authority_start(value);
    let has_user_info = start > 0
        && value[start..]
            .split('/')
            .next()
            .is_some_and(|authority| authority.contains('@'));
    has_user_info
        || value
            .split(['?', '#', ';', '&'])
            .filter_map(|piece| piece.split_once('='))
            .any(|(name, _)| is_credential(name))
}

fn is_credential(name: &str) -> bool {
    is_credential_name(&decode(name))
}

fn decode(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_LAYERS {
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if decoded == text {
            break;
        }
        text = decoded;
    }
    text
}
