//! References: what users write to name a trace or a tokenizer.

mod error;
mod http_url;
mod hub;
mod location;
mod page;
mod presigned;
mod redact;
mod redacted_url;
mod s3_path;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use url::Url;

pub use error::ReferenceError;
pub(crate) use http_url::HttpUrl;
pub use hub::HubPathError;
pub(crate) use hub::{HubPath, RepoKind, is_plain_path};
pub(crate) use location::Location;
pub(crate) use redact::redact;
use redact::{is_marked, redact_refused, redact_store_path};
pub(crate) use redacted_url::RedactedUrl;
pub(crate) use s3_path::S3Path;
pub use s3_path::S3PathError;

/// Where a trace or a tokenizer lies: a local path, `hf://`, `s3://`, or an `http://` or `https://` URL.
///
/// A text with `scheme://` at its start is not a local path, and neither is one that starts with the name of a scheme
/// and a colon; everything else is: `trace:1.jsonl` and `c:\x` are paths, and so is `./hf:x`.
///
/// - `hf://[datasets|models|spaces/]<owner>/<repository>[@<revision>][/<path>]`: slashes in a revision are written as
///   `%2F`; the path is literal.
/// - `s3://<bucket>/<key>[?versionId=<id>]`: the key is literal; one that is empty or ends with a slash is a prefix.
/// - URLs are kept byte for byte and never re-encoded, since a presigned one would no longer work.
///
/// `Display` shows what the user wrote, with `<redacted>` where user-info or a credential parameter stands, and so does
/// `Debug`. That is the only form in which a reference can be printed, and what it prints can be parsed again: a URL with
/// `<redacted>` in it then needs [`InjectedUrls`](crate::InjectedUrls) to become a whole one.
///
/// Two references are equal if they name the same place, however they are written.
#[derive(Clone)]
pub struct Reference(Arc<Written>);

struct Written {
    place: Place,
    /// What may be shown.
    text: String,
}

/// One variant a source.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Local(PathBuf),
    Http(HttpUrl),
    Redacted(RedactedUrl),
    Hub(HubPath),
    S3(S3Path),
}

/// What stands before `://`, or before a lone `:`.
enum Form<'a> {
    Path,
    /// A scheme in lower case, and what follows its `://`.
    Scheme(String, &'a str),
    /// A scheme that we know, and what follows its colon and at most one slash.
    Slashless(&'static str, &'a str),
}

impl Reference {
    /// Parses what a user wrote to name a trace: `hf://<owner>/<repository>` is a dataset.
    ///
    /// # Errors
    ///
    /// When the scheme is not supported, or when the text cannot be used as it is written.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        Self::parse_implying(RepoKind::Dataset, text)
    }

    /// Parses what a user wrote to name a tokenizer: `hf://<owner>/<repository>` is a model.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_tokenizer(text: &str) -> Result<Self, ReferenceError> {
        Self::parse_implying(RepoKind::Model, text)
    }

    fn parse_implying(kind: RepoKind, text: &str) -> Result<Self, ReferenceError> {
        if text.trim().is_empty() {
            return Err(ReferenceError::Empty);
        }
        match Form::of(text) {
            Form::Path => Ok(Self::of_path(Path::new(text))),
            Form::Slashless(scheme, rest) => Err(ReferenceError::slashless(text, scheme, rest)),
            Form::Scheme(scheme, rest) => {
                match scheme.as_str() {
                    "http" | "https" => Self::parse_url(text),
                    "file" => file_path(text).map(|path| Self::of_path(&path)).ok_or_else(|| {
                        ReferenceError::FileUrl {
                            reference: redact_refused(text),
                        }
                    }),
                    "hf" => {
                        let shown = shown_store_path(text, 3)?;
                        HubPath::parse(rest, kind)
                            .map(|path| Self::new(Place::Hub(path), text.to_owned()))
                            .map_err(|problem| ReferenceError::Hub {
                                reference: shown,
                                problem,
                            })
                    }
                    "s3" => {
                        let shown = shown_store_path(text, 1)?;
                        S3Path::parse(rest)
                            .map(|path| Self::new(Place::S3(path), text.to_owned()))
                            .map_err(|problem| ReferenceError::S3 {
                                reference: shown,
                                problem,
                            })
                    }
                    _ => Err(ReferenceError::scheme(text, scheme, rest)),
                }
            }
        }
    }

    fn parse_url(text: &str) -> Result<Self, ReferenceError> {
        let refused = |error| ReferenceError::from_url(redact_refused(text), &error);
        if is_marked(text) {
            let url = RedactedUrl::parse(text).map_err(refused)?;
            let text = url.to_string();
            return Ok(Self::new(Place::Redacted(url), text));
        }
        let url = HttpUrl::parse(text);
        if let Some(instead) = page::instead_of(text) {
            return Err(ReferenceError::Page {
                reference: redact_refused(text),
                instead,
            });
        }
        let url = url.map_err(refused)?;
        Ok(Self::of_url(url))
    }

    fn new(place: Place, text: String) -> Self {
        Self(Arc::new(Written { place, text }))
    }

    /// The reference of a path on this machine, whatever its text looks like.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        let text = redact(&path.to_string_lossy());
        Self::new(Place::Local(path.to_owned()), text)
    }

    pub(crate) fn of_url(url: HttpUrl) -> Self {
        let text = url.to_string();
        Self::new(Place::Http(url), text)
    }

    /// The path, if the reference names something on this machine.
    #[must_use]
    pub fn local_path(&self) -> Option<&Path> {
        match &self.0.place {
            Place::Local(path) => Some(path),
            _ => None,
        }
    }

    /// Whether the reference itself names one version, which stays: a commit of a repository, or the version of an object.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        match &self.0.place {
            Place::Hub(path) => path.commit().is_some(),
            // The version `null` is what was written while no versions were kept: it can be overwritten.
            Place::S3(path) => path.version_id().is_some_and(|id| id != "null"),
            Place::Local(_) | Place::Http(_) | Place::Redacted(_) => false,
        }
    }

    /// Whether it is a URL that carries a credential in its query.
    #[must_use]
    pub fn is_presigned(&self) -> bool {
        matches!(&self.0.place, Place::Http(url) if url.is_presigned())
    }

    /// Whether it is a URL whose credential was replaced by `<redacted>`. Only an injected URL makes it usable.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        matches!(self.0.place, Place::Redacted(_))
    }

    /// When it stops working, if it is a presigned URL that says so.
    #[must_use]
    pub fn expiry(&self) -> Option<Timestamp> {
        match &self.0.place {
            Place::Http(url) => url.expiry(),
            _ => None,
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0.place
    }

    #[cfg(test)]
    pub(crate) fn hub_path(&self) -> Option<&HubPath> {
        match &self.0.place {
            Place::Hub(path) => Some(path),
            _ => None,
        }
    }

    pub(crate) fn s3_path(&self) -> Option<&S3Path> {
        match &self.0.place {
            Place::S3(path) => Some(path),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn http_url(&self) -> Option<&HttpUrl> {
        match &self.0.place {
            Place::Http(url) => Some(url),
            _ => None,
        }
    }

    /// What lies at `path` below the folder that this names; `path` has `/` between its parts, and nothing is the folder
    /// itself. A URL names no folder, and stays as it is.
    pub(crate) fn below(&self, path: &str) -> Self {
        match &self.0.place {
            _ if path.is_empty() => self.clone(),
            Place::Local(folder) => Self::of_path(&folder.join(path)),
            Place::Hub(folder) => {
                let path = folder.below(path);
                let text = path.to_string();
                Self::new(Place::Hub(path), text)
            }
            Place::S3(folder) => {
                let path = folder.below(path);
                let text = path.to_string();
                Self::new(Place::S3(path), text)
            }
            Place::Http(_) | Place::Redacted(_) => self.clone(),
        }
    }
}

impl<'a> Form<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim_start();
        let Some((before, after)) = text.split_once(':') else {
            return Self::Path;
        };
        let scheme = before.to_ascii_lowercase();
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        match after.strip_prefix("//") {
            Some(rest) if is_scheme => Self::Scheme(scheme, rest),
            None => ["hf", "s3", "http", "https"]
                .into_iter()
                .find(|known| *known == scheme)
                .map_or(Self::Path, |known| Self::Slashless(known, after)),
            Some(_) => Self::Path,
        }
    }
}

/// What may be shown of a text that starts with `hf://` or `s3://`. `names` is how many parts at its start could hide a
/// credential: those of names, which have no colon.
fn shown_store_path(text: &str, names: usize) -> Result<String, ReferenceError> {
    let (reference, holds_credential) = redact_store_path(text, names);
    if holds_credential {
        return Err(ReferenceError::Credential { reference });
    }
    if text.trim() != text || text.contains(char::is_control) {
        return Err(ReferenceError::Invisible { reference });
    }
    Ok(reference)
}

/// Whether `?name=` follows: a key or a path is taken as it is, but this is nothing that a file is called.
fn has_parameters(text: &str) -> bool {
    text.rsplit_once('?')
        .and_then(|(_, query)| query.split_once('='))
        .is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        })
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

impl PartialEq for Reference {
    fn eq(&self, other: &Self) -> bool {
        self.0.place == other.0.place
    }
}

impl Eq for Reference {}

impl Hash for Reference {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.place.hash(state);
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reference({self})")
    }
}
