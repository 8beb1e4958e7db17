//! An `http://` or `https://` URL that is sent exactly as it was written.

use std::fmt;

use jiff::Timestamp;
use url::{Position, Url};

use super::location::Location;
use super::presigned;
use super::redact::{is_credential_query, redact};

/// A URL whose path and query reach the server byte for byte.
///
/// The query may be a credential (a presigned URL), and so may be the user-info. Neither is ever printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct HttpUrl(Url);

/// Why a text is not such a URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HttpUrlError {
    /// Not a URL at all.
    Invalid(url::ParseError),
    /// White space or control characters, which a URL parser would silently drop.
    Spaces,
    /// A `#` part, which is never sent.
    Fragment,
    /// Path or query would have to be changed to be sent.
    Unencoded,
    /// The path ends with `/`, and no query says which file is meant.
    Folder,
}

impl HttpUrl {
    /// `text` starts with `http://` or `https://`, in any case.
    pub(super) fn parse(text: &str) -> Result<Self, HttpUrlError> {
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(HttpUrlError::Spaces);
        }
        let (_, rest) = text
            .split_once("://")
            .ok_or(HttpUrlError::Invalid(url::ParseError::RelativeUrlWithoutBase))?;
        let target = &rest[rest.find(['/', '?', '#']).unwrap_or(rest.len())..];
        if target.len() == rest.len() {
            return Err(HttpUrlError::Invalid(url::ParseError::EmptyHost));
        }
        let url = Url::parse(text).map_err(HttpUrlError::Invalid)?;
        if !has_plain_host(&url) {
            return Err(HttpUrlError::Invalid(url::ParseError::InvalidDomainCharacter));
        }
        if url.fragment().is_some() {
            return Err(HttpUrlError::Fragment);
        }
        let sent = &url[Position::BeforePath..];
        if sent != target && sent.strip_prefix('/') != Some(target) {
            return Err(HttpUrlError::Unencoded);
        }
        if url.path().ends_with('/') && url.query().is_none() {
            return Err(HttpUrlError::Folder);
        }
        Ok(Self(url))
    }

    /// The whole URL with all credentials in it. For sending a request, and for nothing else.
    pub(crate) fn with_credentials(&self) -> &Url {
        &self.0
    }

    /// Whether the query carries a credential.
    pub(crate) fn is_presigned(&self) -> bool {
        self.0.query().is_some_and(is_credential_query)
    }

    /// Whether query or user-info carry a credential.
    pub(crate) fn has_credential(&self) -> bool {
        self.is_presigned() || !self.0.username().is_empty() || self.0.password().is_some()
    }

    pub(crate) fn has_parameters(&self) -> bool {
        self.0.query().is_some()
    }

    /// What the URL names, whoever signed it and when.
    pub(crate) fn location(&self) -> Location {
        Location::of(&self.0)
    }

    /// When the URL stops working, if it is a presigned one that says so.
    pub(crate) fn expiry(&self) -> Option<Timestamp> {
        presigned::expiry(self.0.query()?)
    }
}

/// Whether the host's name is one that the DNS could have. The URL standard allows more, even what looks like parameters.
fn has_plain_host(url: &Url) -> bool {
    match url.domain() {
        Some(name) => name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')),
        None => url.has_host(),
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(self.0.as_str()))
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
