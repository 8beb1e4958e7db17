//! References: what users write to name a trace.

mod http_url;
mod hub;
mod presigned;
mod redact;
mod s3_path;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use url::Url;

pub(crate) use http_url::HttpUrl;
use http_url::HttpUrlError;
pub(crate) use hub::{HubPath, RepoKind, is_plain_path};
use redact::redact_refused;
pub(crate) use redact::{REDACTED, redact};
pub(crate) use s3_path::S3Path;

/// Where a trace lies: a local path, or an `http://` or `https://` URL.
///
/// A text with `scheme://` at its start is a URL, everything else is a local path: `trace:1.jsonl` and `c:\x` are paths.
/// URLs are kept byte for byte and never re-encoded, since a presigned one would no longer work.
///
/// `Display` and `Debug` show `<redacted>` where user-info or a credential parameter stands. That is the only form in
/// which a reference can be printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Reference(Place);

/// One variant a source.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Local(PathBuf),
    Http(HttpUrl),
    Hub(HubPath),
    S3(S3Path),
}

impl Reference {
    /// Parses what a user wrote.
    ///
    /// # Errors
    ///
    /// When the scheme is not supported, or when a URL cannot be sent as it is written.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if text.trim().is_empty() {
            return Err(ReferenceError::Empty);
        }
        let Some(scheme) = scheme(text.trim_start()) else {
            return Ok(Self(Place::Local(PathBuf::from(text))));
        };
        let reference = redact_refused(text);
        if text.contains(REDACTED) {
            return Err(ReferenceError::Redacted { reference });
        }
        match scheme.as_str() {
            "http" | "https" => HttpUrl::parse(text)
                .map(|url| Self(Place::Http(url)))
                .map_err(|error| ReferenceError::from_url(reference, &error)),
            "file" => file_path(text)
                .map(|path| Self(Place::Local(path)))
                .ok_or(ReferenceError::FileUrl { reference }),
            "hf" | "s3" => Err(ReferenceError::NotYet { reference, scheme }),
            _ => Err(ReferenceError::Scheme { reference, scheme }),
        }
    }

    /// The reference of a path on this machine, whatever its text looks like.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        Self(Place::Local(path.to_owned()))
    }

    /// The path, if the reference names something on this machine.
    #[must_use]
    pub fn local_path(&self) -> Option<&Path> {
        match &self.0 {
            Place::Local(path) => Some(path),
            Place::Http(_) | Place::Hub(_) | Place::S3(_) => None,
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0
    }
}

/// The scheme in lower case, if the text starts with `scheme://`.
fn scheme(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// The path of `file:///path`, percent-decoded. Another host's files, queries and fragments are nothing that we could
/// read.
fn file_path(text: &str) -> Option<PathBuf> {
    let url = Url::parse(text).ok()?;
    let is_plain = url.query().is_none() && url.fragment().is_none();
    is_plain.then(|| url.to_file_path().ok()).flatten()
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Local(path) => f.write_str(&redact(&path.to_string_lossy())),
            Place::Http(url) => url.fmt(f),
            Place::Hub(path) => path.fmt(f),
            Place::S3(path) => path.fmt(f),
        }
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reference({self})")
    }
}

/// Why a text is not a reference. What it shows of the text is redacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Nothing was given.
    #[error(
        "Cannot use an empty reference: it names no trace. Give a local path or an http:// or https:// URL."
    )]
    Empty,
    /// A scheme that Reprise does not know.
    #[error(
        "Cannot use {reference}: {scheme}:// is not supported. Give a local path, file://, http:// or https:// \
         (hf:// and s3:// are not supported yet)."
    )]
    Scheme {
        /// The text, redacted.
        reference: String,
        /// The scheme, in lower case.
        scheme: String,
    },
    /// A scheme whose source is not built yet.
    #[error(
        "Cannot use {reference}: {scheme}:// is not supported yet. Download the file and give its path, or give an \
         http:// or https:// URL of it."
    )]
    NotYet {
        /// The text, redacted.
        reference: String,
        /// The scheme, in lower case.
        scheme: String,
    },
    /// The credential was replaced by `<redacted>`.
    #[error("Cannot use {reference}: its credential is redacted. Give the whole URL.")]
    Redacted {
        /// The text, redacted.
        reference: String,
    },
    /// `file://` with something other than an absolute path of this machine.
    #[error(
        "Cannot use {reference}: file:// takes an absolute path on this machine and nothing else. Write \
         file:///folder/file, or the path alone."
    )]
    FileUrl {
        /// The text, redacted.
        reference: String,
    },
    /// Not a URL.
    #[error("Cannot use {reference}: it is not a valid URL ({reason}). Check its host and port.")]
    Invalid {
        /// The text, redacted.
        reference: String,
        /// What the URL standard has to say.
        reason: url::ParseError,
    },
    /// White space or control characters.
    #[error(
        "Cannot use {reference}: a URL must not have spaces or line ends. Remove them; write %20 for a space in a \
         file's name."
    )]
    Spaces {
        /// The text, redacted.
        reference: String,
    },
    /// Characters that cannot be sent as they are.
    #[error(
        "Cannot use {reference}: its path or query would have to be rewritten to be sent, and Reprise sends URLs byte \
         for byte. Percent-encode special characters (é is %C3%A9, \" is %22) and leave out . and .. folders."
    )]
    Unencoded {
        /// The text, redacted.
        reference: String,
    },
    /// A `#` part.
    #[error(
        "Cannot use {reference}: what follows # is never sent to a server. Write %23 for a # in a file's name, or leave that part out."
    )]
    Fragment {
        /// The text, redacted.
        reference: String,
    },
    /// A folder.
    #[error(
        "Cannot use {reference}: it names a folder, and an http:// or https:// URL must name one file. Add the file's name."
    )]
    Folder {
        /// The text, redacted.
        reference: String,
    },
}

impl ReferenceError {
    fn from_url(reference: String, error: &HttpUrlError) -> Self {
        match *error {
            HttpUrlError::Invalid(reason) => Self::Invalid { reference, reason },
            HttpUrlError::Spaces => Self::Spaces { reference },
            HttpUrlError::Unencoded => Self::Unencoded { reference },
            HttpUrlError::Fragment => Self::Fragment { reference },
            HttpUrlError::Folder => Self::Folder { reference },
        }
    }
}
