//! A URL without its credential.

use std::fmt;

use super::http_url::{HttpUrl, HttpUrlError};
use super::location::Location;
use super::redact::{ENCODED_MARKER, REDACTED, mark, redact};

/// A presigned URL as it stands in a spec or in results, with `<redacted>` where its credentials were.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct RedactedUrl {
    text: String,
    location: Location,
}

impl RedactedUrl {
    /// `text` has the marker in it, as it is or percent-encoded.
    pub(super) fn parse(text: &str) -> Result<Self, HttpUrlError> {
        let marked = mark(text);
        let url = HttpUrl::parse(&marked.replace(REDACTED, ENCODED_MARKER))?;
        Ok(Self {
            text: redact(&mark(url.with_credentials().as_str())),
            location: url.location(),
        })
    }

    /// What it names, whoever signed it and when.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }
}

impl fmt::Display for RedactedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RedactedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
