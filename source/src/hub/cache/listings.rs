//! Which files a folder of a commit has.
//!
//! A snapshot has only those that somebody needed. Without a network, the rules that choose among a folder's files must
//! see the same ones as with it, or they would take the rest of a dataset for the whole.

use std::fs;
use std::path::PathBuf;

use reprise_contract::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{HubCache, cannot_use, replace};
use crate::hub::problem::HubProblem;
use crate::hub::source::commit;
use crate::remote::{Found, RemoteFile, Shape};

#[derive(Serialize, Deserialize)]
struct ListedFile {
    name: String,
    location: String,
    size: Option<u64>,
    sha256: Option<Digest>,
    tag: Option<String>,
}

impl HubCache {
    /// Folders are told apart by the hash of their path: its own characters may be too many for a file's name.
    fn listing_path(&self, commit: &str) -> PathBuf {
        let folder = Digest::from_bytes(Sha256::digest(self.path.path()).into());
        self.folder()
            .join("listings")
            .join(commit)
            .join(format!("{folder}.json"))
    }

    pub(super) fn remember_listing(&self, found: &Found) -> Result<(), HubProblem> {
        let (Shape::Folder(files), Ok(commit)) = (&found.shape, commit(found)) else {
            return Ok(());
        };
        let path = self.listing_path(commit);
        // A commit never changes.
        if path.exists() {
            return Ok(());
        }
        let files: Vec<_> = files.iter().map(ListedFile::of).collect();
        let json = serde_json::to_vec(&files).map_err(|error| cannot_use(&path)(error.into()))?;
        replace(&path, &json).map_err(cannot_use(&path))
    }

    /// `None` when there is none that can be used.
    pub(super) fn listing(&self, commit: &str) -> Option<Vec<RemoteFile>> {
        let json = fs::read(self.listing_path(commit)).ok()?;
        let files: Vec<ListedFile> = serde_json::from_slice(&json).ok()?;
        Some(files.into_iter().map(ListedFile::into_remote).collect())
    }
}

impl ListedFile {
    fn of(file: &RemoteFile) -> Self {
        Self {
            name: file.name.clone(),
            location: file.location.clone(),
            size: file.size,
            sha256: file.sha256,
            tag: file.tag.clone(),
        }
    }

    fn into_remote(self) -> RemoteFile {
        RemoteFile {
            name: self.name,
            location: self.location,
            size: self.size,
            sha256: self.sha256,
            tag: self.tag,
        }
    }
}
