//! Presigned URLs that come from the environment, for references whose credential was taken out.

#[cfg(test)]
mod tests;

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::SourceError;
use crate::reference::{HttpUrl, Location, Place, Reference};

/// The environment variable that holds the list, as `JSON`.
pub const INJECTED_URLS: &str = "REPRISE_INJECTED_DATASET_URLS";

/// Whole presigned URLs, by what they name.
///
/// A spec, a `ConfigMap` or a result holds a presigned URL with `<redacted>` where its credentials were. Whoever fetches
/// has the whole URLs in a list, and finds in it the one that a reference means: that with the same scheme, host, port,
/// path and parameters, where parameters of the signature do not count (credentials, dates and lifetimes, which change
/// when a URL is signed anew) and order and encoding of the others make no difference.
///
/// It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct InjectedUrls(Vec<Injected>);

#[derive(Clone, PartialEq, Eq)]
struct Injected {
    location: Location,
    url: HttpUrl,
}

impl InjectedUrls {
    /// Parses the value of [`INJECTED_URLS`]: a JSON list of presigned URLs.
    ///
    /// # Errors
    ///
    /// When it is something else. The message shows nothing of it.
    pub fn parse(json: &str) -> Result<Self, InjectedUrlsError> {
        let value: Value = serde_json::from_str(json).map_err(|error| InjectedUrlsError::NotJson {
            line: error.line(),
            column: error.column(),
        })?;
        let Value::Array(entries) = value else {
            return Err(InjectedUrlsError::NotAList);
        };
        let mut urls: Vec<Injected> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let url = parse_entry(index + 1, entry)?;
            // One URL that is listed twice leaves no doubt about which is meant.
            if urls.iter().all(|known| known.url != url) {
                urls.push(Injected {
                    location: url.location(),
                    url,
                });
            }
        }
        Ok(Self(urls))
    }

    /// The reference to use in place of `reference`: the injected URL that it means, or itself if it needs none.
    ///
    /// Looked up are URLs with `<redacted>` in them, which must be found, and URLs without any credential, which may be:
    /// one that has no parameters at all stands for the injected URL of the same path, whatever its parameters are.
    ///
    /// # Errors
    ///
    /// When no injected URL, or more than one, is meant, or when it has expired by `now`.
    pub fn resolve(&self, reference: &Reference, now: Timestamp) -> Result<Reference, SourceError> {
        let found = match reference.place() {
            Place::Redacted(url) => self.find(|known| known == url.location()),
            Place::Http(url) if !url.has_credential() => {
                let location = url.location();
                let exact = self.find(|known| *known == location);
                if exact.is_empty() && !url.has_parameters() {
                    self.find(|known| known.without_parameters() == location)
                } else {
                    exact
                }
            }
            _ => return Ok(reference.clone()),
        };
        let problem = match found.as_slice() {
            [] if reference.is_redacted() => InjectionProblem::Missing,
            [] => return Ok(reference.clone()),
            [url] => match url.expiry() {
                Some(expiry) if expiry <= now => InjectionProblem::Expired { expiry },
                _ => return Ok(Reference::of_url((*url).clone())),
            },
            several => InjectionProblem::Several(several.len()),
        };
        Err(SourceError::new(reference.clone(), problem.into()))
    }

    fn find(&self, is_meant: impl Fn(&Location) -> bool) -> Vec<&HttpUrl> {
        let meant = self.0.iter().filter(|known| is_meant(&known.location));
        meant.map(|known| &known.url).collect()
    }
}

impl fmt::Debug for InjectedUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InjectedUrls({})", self.0.len())
    }
}

/// `number` counts from 1, as people do.
fn parse_entry(number: usize, entry: &Value) -> Result<HttpUrl, InjectedUrlsError> {
    let text = entry.as_str().ok_or(InjectedUrlsError::NotText { number })?;
    let reference = Reference::parse(text).map_err(|_| InjectedUrlsError::NotAUrl { number })?;
    match reference.place() {
        Place::Http(url) if url.has_credential() => Ok(url.clone()),
        Place::Http(_) => Err(InjectedUrlsError::NoCredential { number }),
        Place::Redacted(_) => Err(InjectedUrlsError::Redacted { number }),
        Place::Local(_) | Place::Hub(_) | Place::S3(_) => Err(InjectedUrlsError::NotAUrl { number }),
    }
}

/// Why a text is no list of injected URLs. Shows nothing of it; entries are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectedUrlsError {
    /// Not JSON.
    #[error(
        "Cannot use {INJECTED_URLS}: it is not JSON (line {line}, column {column}). Give a JSON list of presigned \
         URLs: [\"https://…\"]."
    )]
    NotJson {
        /// Where, from 1 on.
        line: usize,
        /// Where, from 1 on.
        column: usize,
    },
    /// JSON, but something else than a list.
    #[error(
        "Cannot use {INJECTED_URLS}: it is JSON, but not a list. Give a JSON list of presigned URLs, even for one: \
         [\"https://…\"]."
    )]
    NotAList,
    /// An entry that is no text.
    #[error("Cannot use {INJECTED_URLS}: entry {number} is not a text. Give each URL in double quotes.")]
    NotText {
        /// Which.
        number: usize,
    },
    /// An entry that is no URL of a file.
    #[error(
        "Cannot use {INJECTED_URLS}: entry {number} is not an http:// or https:// URL of a file. Copy the whole \
         presigned URL, with nothing before and after it."
    )]
    NotAUrl {
        /// Which.
        number: usize,
    },
    /// A URL that was cut, or that needs no credential.
    #[error(
        "Cannot use {INJECTED_URLS}: entry {number} carries no credential. Copy the whole presigned URL (a shell cuts \
         one without quotes at the first &); a URL that needs none does not belong here."
    )]
    NoCredential {
        /// Which.
        number: usize,
    },
    /// A URL that was copied from a place where it is redacted.
    #[error(
        "Cannot use {INJECTED_URLS}: the credential of entry {number} is redacted. Give the URL as it was signed."
    )]
    Redacted {
        /// Which.
        number: usize,
    },
}

/// Why no injected URL can be used for a reference. Follows `Cannot use <reference>: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectionProblem {
    /// None belongs to it, or there are none at all.
    #[error(
        "its credential is redacted, and no injected URL belongs to it. Put the whole presigned URL into the JSON list \
         in {INJECTED_URLS}, or give it instead."
    )]
    Missing,
    /// More than one belongs to it.
    #[error(
        "{0} URLs in {INJECTED_URLS} belong to it. Keep one of them: when a URL is signed anew, it replaces the old one."
    )]
    Several(usize),
    /// The one that belongs to it has expired.
    #[error(
        "its URL in {INJECTED_URLS} expired at {expiry}. Generate a new one and put it in the place of the old."
    )]
    Expired {
        /// When.
        expiry: Timestamp,
    },
}
