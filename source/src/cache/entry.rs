//! Entries: which content a version of a file has.

use jiff::Timestamp;
use reprise_contract::Digest;
use serde::{Deserialize, Serialize};

use super::disk;
use super::layout::Layout;
use super::place::{PlaceKey, digest};
use super::problem::CacheProblem;
use crate::reference::redact;
use crate::remote::{Found, RemoteFile, Shape};

/// What names a file in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileKey {
    pub(super) key: String,
    /// What changes with the content. Without it the file is never found again.
    pub(super) version: Option<String>,
}

impl FileKey {
    pub(super) fn new(place: &PlaceKey, found: &Found, file: &RemoteFile) -> Self {
        let version = match &found.shape {
            Shape::File(named) if named.name == file.name => {
                let version = found.version.as_ref().map(ToString::to_string);
                version.or_else(|| file.tag.clone())
            }
            Shape::File(_) | Shape::Folder(_) => file.tag.clone(),
        };
        let place = place.digest().to_string();
        let name = redact(&file.name);
        let key = match &version {
            Some(version) => digest(["file", &place, &name, version]),
            None => digest(["file without a version", &place, &name]),
        };
        Self {
            key: key.to_string(),
            version,
        }
    }
}

/// What is on record of a file. It was used last when the record was modified last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The place, for people; redacted.
    pub(super) place: String,
    /// The file's name at the place; redacted.
    pub(super) name: String,
    /// The version of the reference that it was fetched for.
    pub(super) version: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
    #[serde(with = "super::text")]
    pub(super) fetched: Timestamp,
}

impl Entry {
    pub(super) fn new(
        place: &PlaceKey,
        found: &Found,
        file: &RemoteFile,
        bytes: u64,
        sha256: Digest,
    ) -> Self {
        Self {
            place: place.to_string(),
            name: redact(&file.name),
            version: found.version.as_ref().map(ToString::to_string),
            tag: file.tag.clone(),
            bytes,
            sha256,
            fetched: Timestamp::now(),
        }
    }

    /// `None` when there is none, or none that makes sense: then the file is fetched again.
    pub(super) fn read(layout: &Layout, key: &str) -> Result<Option<Self>, CacheProblem> {
        let bytes = disk::read_if_there(&layout.entry(key))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn write(&self, layout: &Layout, key: &str) -> Result<(), CacheProblem> {
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?;
        Ok(disk::write(&layout.tmp, &layout.entry(key), &bytes)?)
    }
}
