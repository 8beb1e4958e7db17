//! What may be shown of a reference: everything but its credentials.

use std::borrow::Cow;
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
    redact_before(text, start, end)
}

/// [`redact`] for a text that is no URL that we accept. Where the user-info of such a text ends is anyone's guess, so
/// everything up to the last `@` goes.
pub(crate) fn redact_refused(text: &str) -> String {
    redact_before(text, authority_start(text), text.len())
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
        .any(|parameter| matches!(redact_parameter(parameter), Cow::Owned(_)))
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

fn redact_before(text: &str, start: usize, end: usize) -> String {
    let shown = match text[start..end].rfind('@') {
        Some(at) if start > 0 => {
            format!(
                "{}{REDACTED}{}",
                redact_parameters(&text[..start]),
                redact_parameters(&text[start + at..])
            )
        }
        _ => redact_parameters(text),
    };
    escape_controls(&shown)
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

/// Parameters start at the first `?`, and to be safe at the first `#`, `;` or `&` as well; `&` parts them.
fn redact_parameters(text: &str) -> String {
    let Some(start) = text.find(['?', '#', ';', '&']) else {
        return text.to_owned();
    };
    let (before, parameters) = text.split_at(start);
    let shown: Vec<_> = parameters.split('&').map(redact_parameter).collect();
    before.to_owned() + &shown.join("&")
}

/// From the first credential on nothing is shown up to the next `&`: a value may hold any other character.
fn redact_parameter(parameter: &str) -> Cow<'_, str> {
    let mut start = 0;
    for piece in parameter.split_inclusive(['?', '#', ';']) {
        if let Some((name, value)) = piece.split_once('=')
            && (is_credential(name) || holds_credential(&decode(value)))
        {
            return Cow::Owned(format!("{}{name}={REDACTED}", &parameter[..start]));
        }
        start += piece.len();
    }
    Cow::Borrowed(parameter)
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
