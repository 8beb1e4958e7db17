//! A reference whose version, files and manifest are known.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use reprise_contract::Digest;

use crate::error::{Problem, SourceError};
use crate::manifest::Manifest;
use crate::origin::Origin;
use crate::reference::{Place, Reference};
use crate::remote::Found;
use crate::selection::{ReadManifest, Selection};
use crate::version::Version;
use crate::warning::SourceWarning;

/// What passed the access check: it exists, may be read, has this version, consists of these files, and its publisher
/// allows this run.
pub struct Pinned {
    pub(crate) reference: Reference,
    /// The version that was given beside the reference.
    pub(crate) chosen: Option<Version>,
    pub(crate) found: Found,
    pub(crate) chosen_by: PinnedBy,
    pub(crate) selection: Selection,
    /// Where it is read from; offline from nowhere.
    pub(crate) origin: Option<Arc<Origin>>,
}

/// Who chose the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinnedBy {
    /// The reference names it.
    Reference,
    /// It was given beside the reference.
    Version,
    /// The newest there is.
    Newest,
    /// The newest on this machine; the source was not asked.
    NewestKept,
}

/// A manifest or sidecar, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile<'a> {
    /// Its name, with the folders below the one that was named.
    pub name: &'a str,
    /// Its length in bytes.
    pub bytes: u64,
    /// Digest of these bytes.
    pub sha256: Digest,
}

/// One file of what was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile<'a> {
    /// Its name, with the folders below the one that was named.
    pub name: &'a str,
    /// Its length in bytes, where the source says so.
    pub bytes: Option<u64>,
}

impl Pinned {
    /// What the user wrote. Prints redacted.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Whether it lies on this machine: then nothing is fetched, and there is no version.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.reference.place(), Place::Local(_))
    }

    /// The exact version; `None` when the source tells none.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        self.found.version.as_ref()
    }

    /// Who chose the version.
    #[must_use]
    pub fn pinned_by(&self) -> PinnedBy {
        self.chosen_by
    }

    /// The reference that gives exactly these bytes wherever it is run again; `None` where there is no such thing.
    #[must_use]
    pub fn canonical(&self) -> Option<String> {
        let canonical = self.found.canonical.as_ref()?;
        let Some(Version::Commit(commit)) = &self.found.version else {
            return Some(canonical.clone());
        };
        match (self.reference.place(), self.selection.files.as_slice()) {
            (Place::Hub(path), [file]) => Some(path.at(commit, &file.location).to_string()),
            _ => Some(canonical.clone()),
        }
    }

    /// The files, in the order in which they are read.
    #[must_use]
    pub fn files(&self) -> impl ExactSizeIterator<Item = PinnedFile<'_>> {
        self.selection.files.iter().map(|file| PinnedFile {
            name: &file.name,
            bytes: file.size,
        })
    }

    /// The length of all files together, where the source says so.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.selection.files.iter().map(|file| file.size).sum()
    }

    /// Whether the files are Parquet, as far as their names tell; of local files their first bytes do.
    #[must_use]
    pub fn is_parquet(&self) -> bool {
        self.selection.is_parquet
    }

    /// The manifest or sidecar, if there is one.
    #[must_use]
    pub fn manifest_file(&self) -> Option<ManifestFile<'_>> {
        let read = self.selection.manifest.as_ref()?;
        Some(ManifestFile {
            name: &read.file.name,
            bytes: read.bytes,
            sha256: read.sha256,
        })
    }

    /// The trace format that the publisher declares.
    #[must_use]
    pub fn format(&self) -> Option<&str> {
        self.manifest()?.format()
    }

    /// Tokens that one hash id stands for, as the publisher declares.
    #[must_use]
    pub fn block_size(&self) -> Option<NonZeroU32> {
        self.manifest()?.block_size()
    }

    /// What whoever runs it should know.
    #[must_use]
    pub fn warnings(&self) -> &[SourceWarning] {
        &self.selection.warnings
    }

    /// The digest that the publisher declares; of a single file only.
    pub(crate) fn declared_sha256(&self) -> Option<Digest> {
        match self.selection.files.as_slice() {
            [_] => self.manifest()?.sha256(),
            _ => None,
        }
    }

    pub(crate) fn error(&self, problem: Problem) -> SourceError {
        SourceError::new(self.reference.clone(), problem)
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.selection
            .manifest
            .as_ref()
            .map(|ReadManifest { manifest, .. }| manifest)
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned")
            .field("reference", &self.reference)
            .field("version", &self.found.version)
            .field("chosen_by", &self.chosen_by)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
