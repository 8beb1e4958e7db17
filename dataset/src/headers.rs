//! Recorded headers: which of them are replayed.

use std::fmt;

use reprise_contract::credentials::is_credential_name;

use crate::count::shortened;
use crate::json::{self, JsonError, Kind, Members};
use crate::named_counts::NamedCounts;

/// A header's name, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderName(String);

impl HeaderName {
    /// Reads a name that a recorded header can be kept by.
    ///
    /// # Errors
    ///
    /// When it is no header name, or names a header of the connection, which is never replayed.
    pub fn parse(name: &str) -> Result<Self, HeaderNameError> {
        if is_of_the_connection(&name.to_ascii_lowercase()) {
            return Err(HeaderNameError::OfTheConnection(name.to_owned()));
        }
        match http::HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => Ok(Self(name.as_str().to_owned())),
            Err(_) => Err(HeaderNameError::NotAName(name.to_owned())),
        }
    }

    /// The name in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Why recorded headers cannot be kept by a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderNameError {
    /// It is not spelt like a header's name.
    #[error(
        "Cannot use {0:?} in dataset.options.keepHeaders: it is not a header name. Write letters, digits and hyphens, as in x-api-key."
    )]
    NotAName(String),
    /// It belongs to the recorded connection and has no meaning on another.
    #[error(
        "Cannot use {0:?} in dataset.options.keepHeaders: the header belongs to the connection and is never replayed. Remove it."
    )]
    OfTheConnection(String),
}

/// What was left out of the recorded headers, by name.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) credentials: NamedCounts,
    pub(crate) of_the_connection: NamedCounts,
    pub(crate) content_types: u64,
}

/// The headers that are replayed, of the JSON object `value`, in its order.
pub(crate) fn select(
    value: &str,
    keep: &[HeaderName],
    dropped: &mut Dropped,
) -> Result<Vec<(String, String)>, HeadersError> {
    match Kind::of(value) {
        Kind::Object => {}
        kind => return Err(HeadersError::NotAnObject { kind }),
    }
    let members = Members::parse(value)?;
    let mut headers = Vec::new();
    for member in members.iter() {
        let recorded = text_of(&member.key, member.value)?;
        let name = member.key.to_ascii_lowercase();
        if is_of_the_connection(&name) {
            dropped.of_the_connection.add(&name);
            continue;
        }
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(HeadersError::NotAName {
                name: shortened(&member.key),
            });
        }
        if is_credential_name(&member.key) && !keep.iter().any(|kept| kept.as_str() == name) {
            dropped.credentials.add(&name);
        } else if name == "content-type" && !is_json(&recorded) {
            dropped.content_types += 1;
        } else {
            headers.push((member.key.clone().into_owned(), recorded));
        }
    }
    Ok(headers)
}

fn text_of(name: &str, value: &str) -> Result<String, HeadersError> {
    let name = || shortened(name);
    match Kind::of(value) {
        Kind::String => {}
        kind => return Err(HeadersError::NotText { name: name(), kind }),
    }
    let text = json::string(value).ok_or_else(|| HeadersError::ForbiddenCharacter { name: name() })?;
    match http::HeaderValue::from_bytes(text.as_bytes()) {
        Ok(_) => Ok(text.into_owned()),
        Err(_) => Err(HeadersError::ForbiddenCharacter { name: name() }),
    }
}

/// Headers that describe the recorded connection or the recorded bytes on it (RFC 9110, 7.6.1, and what frames or encodes
/// a message): replayed, they would contradict the connection that the request really goes over.
fn is_of_the_connection(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    name.starts_with(':') || NAMES.contains(&name)
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Why recorded headers cannot be used. Never prints a value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadersError {
    #[error("headers is {kind}. Write an object of names and strings, or null")]
    NotAnObject { kind: Kind },
    #[error("headers: {0}")]
    Json(#[from] JsonError),
    #[error("headers has the name {name:?}, which HTTP does not allow. Write letters, digits and hyphens")]
    NotAName { name: String },
    #[error("headers.{name} is {kind}. Write a string")]
    NotText { name: String, kind: Kind },
    #[error(
        "headers.{name} holds a character that HTTP does not allow in a value, such as a line break. Remove it"
    )]
    ForbiddenCharacter { name: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(value: &str, keep: &[&str]) -> (Vec<String>, Dropped) {
        let keep: Vec<HeaderName> = keep.iter().map(|name| HeaderName::parse(name).unwrap()).collect();
        let mut dropped = Dropped::default();
        let headers = select(value, &keep, &mut dropped).unwrap();
        (
            headers
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            dropped,
        )
    }

    #[test]
    fn credentials_are_left_out_unless_they_are_named() {
        let recorded = r#"{"Authorization":"Bearer s3cret","X-Tag":"exp","cookie":"a=b","X-API-Key":"k","api-key":"k",
            "X-Amz-Security-Token":"t","x-goog-api-key":"k","X-Goog-IAM-Authorization-Token":"t","Proxy-Foo":"p",
            "x-auth-token":"t","x_api_key":"k","Set-Cookie":"c","X-Hub-Signature-256":"h"}"#;
        let (headers, dropped) = selected(recorded, &[]);
        assert_eq!(headers, ["X-Tag=exp"]);
        assert_eq!(dropped.credentials.iter().count(), 12);
        assert!(!format!("{dropped:?}").contains("s3cret"));

        let (headers, dropped) = selected(recorded, &["AUTHORIZATION", "x-api-key"]);
        assert_eq!(
            headers,
            ["Authorization=Bearer s3cret", "X-Tag=exp", "X-API-Key=k"]
        );
        assert_eq!(dropped.credentials.iter().count(), 10);
    }

    #[test]
    fn ordinary_headers_are_kept_in_their_order() {
        let (headers, dropped) = selected(
            r#"{"x-b":"2","User-Agent":"app/1","traceparent":"00-1","x-max-tokens":"5","x-session-id":"s","idempotency-key":"i","x-a":"é"}"#,
            &[],
        );
        assert_eq!(
            headers,
            [
                "x-b=2",
                "User-Agent=app/1",
                "traceparent=00-1",
                "x-max-tokens=5",
                "x-session-id=s",
                "idempotency-key=i",
                "x-a=é"
            ]
        );
        assert!(dropped.credentials.is_empty() && dropped.of_the_connection.is_empty());
    }

    #[test]
    fn headers_of_the_connection_are_never_kept() {
        let (headers, dropped) = selected(
            r#"{"Host":"a","Connection":"close","Content-Length":"5","Transfer-Encoding":"chunked","Keep-Alive":"5",
                "TE":"trailers","Trailers":"x","Upgrade":"h2c","Proxy-Authorization":"p","Content-Encoding":"gzip",
                "Expect":"100-continue",":authority":"a","Accept-Encoding":"br"}"#,
            &[],
        );
        assert!(headers.is_empty());
        assert_eq!(dropped.of_the_connection.iter().count(), 13);
        assert!(matches!(
            HeaderName::parse("Host"),
            Err(HeaderNameError::OfTheConnection(_))
        ));
        assert!(matches!(
            HeaderName::parse("a b"),
            Err(HeaderNameError::NotAName(_))
        ));
        assert!(matches!(HeaderName::parse(""), Err(HeaderNameError::NotAName(_))));
    }

    #[test]
    fn a_content_type_is_kept_only_when_it_is_json() {
        assert_eq!(
            selected(r#"{"content-type":"Application/JSON; charset=utf-8"}"#, &[])
                .0
                .len(),
            1
        );
        assert_eq!(
            selected(r#"{"content-type":"application/vnd.x+json"}"#, &[])
                .0
                .len(),
            1
        );
        let (headers, dropped) = selected(r#"{"Content-Type":"text/plain"}"#, &[]);
        assert!(headers.is_empty());
        assert_eq!(dropped.content_types, 1);
    }

    #[test]
    fn values_that_would_break_a_request_are_refused_without_being_shown() {
        let error = |value| select(value, &[], &mut Dropped::default()).unwrap_err();
        for value in [
            r#"{"x":"a\r\nX-Evil: 1"}"#,
            r#"{"x":"a\nb"}"#,
            r#"{"x":"a\u0000b"}"#,
            r#"{"x":"\ud800"}"#,
            r#"{"authorization":"a\r\nb"}"#,
        ] {
            let error = error(value);
            assert!(
                matches!(error, HeadersError::ForbiddenCharacter { .. }),
                "{value}"
            );
            assert!(!error.to_string().contains("Evil"));
        }
        assert!(matches!(error(r#"{"x":1}"#), HeadersError::NotText { .. }));
        assert!(matches!(error(r#"{"x":null}"#), HeadersError::NotText { .. }));
        assert!(matches!(error(r#"{"a b":"1"}"#), HeadersError::NotAName { .. }));
        assert!(matches!(error("[]"), HeadersError::NotAnObject { .. }));
    }
}
