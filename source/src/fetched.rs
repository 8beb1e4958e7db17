//! Files that are on this machine, whole and verified.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reprise_contract::Digest;

use crate::digest::digest_of_digests;
use crate::error::SourceError;
use crate::reference::Reference;
use crate::trace::{self, Trace};

/// What was fetched of a reference, in the order in which it is read. The cache does not remove it for as long as this
/// lives.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// At least one.
    pub(crate) files: Vec<FetchedFile>,
}

/// A file on this machine.
#[derive(Clone, Debug)]
pub struct FetchedFile {
    pub(crate) reference: Reference,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Option<u64>,
    pub(crate) sha256: Option<Digest>,
    /// Held only to be held.
    pub(crate) _in_use: Option<Arc<File>>,
}

impl Fetched {
    /// The files, in the order in which they are read; at least one.
    #[must_use]
    pub fn files(&self) -> &[FetchedFile] {
        &self.files
    }

    /// The length of all files together; `None` of a pipe.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

impl Fetched {
    /// The digest of the only file, or of several the digest of a text with a line for each: its digest in hexadecimal.
    /// `None` of files that were on this machine all along, which are hashed while they are read.
    #[must_use]
    pub fn sha256(&self) -> Option<Digest> {
        let digests: Option<Vec<_>> = self.files.iter().map(|file| file.sha256).collect();
        Some(digest_of_digests(&digests?))
    }
}

impl FetchedFile {
    /// Its name, with the folders below the one that was named.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes; `None` of a pipe.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The digest it had when it was fetched; `None` of one that was on this machine all along.
    #[must_use]
    pub fn sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// Opens it to be read from start to end, unpacked, and waits until its first bytes are there.
    ///
    /// Blocks, as reading from the [`Trace`] does; asynchronous callers use a thread for it.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is packed in a way that is not supported.
    pub fn open(&self) -> Result<Trace, SourceError> {
        trace::open(&self.reference, &self.path, self.sha256)
    }
}
