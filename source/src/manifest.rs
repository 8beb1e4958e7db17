//! Manifests and sidecars: what a publisher says about a trace.
//!
//! A manifest lies at the root of a repository, folder or prefix, and names the data file. A sidecar lies beside a file
//! that a reference names already, and adds defaults and requirements. Both are the JSON that AIPerf reads, so that what
//! is published for it runs here; a `reprise.json` goes before an `aiperf.json`.

mod check;
mod json;
mod nearest;
mod problem;
mod read;
mod requires;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use reprise_contract::Digest;

pub use check::RunFacts;
pub use problem::{ManifestFault, ManifestMismatch, ManifestProblem, ManifestWarning};
use requires::Requirements;
pub use requires::{AIPERF_VERSION, EndpointKind};

/// The names of a manifest, in the order in which they are looked for.
pub const MANIFEST_NAMES: [&str; 2] = ["reprise.json", "aiperf.json"];

/// A larger manifest is refused, in bytes.
pub const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// The names of a file's sidecar, in the order in which they are looked for.
#[must_use]
pub fn sidecar_names(file: &str) -> [String; 2] {
    MANIFEST_NAMES.map(|name| format!("{file}.{name}"))
}

/// Which of the two it is. They have the same keys, but need and allow different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestKind {
    /// At the root of a repository, folder or prefix: needs `path` and `format`.
    Root,
    /// Beside a file: must not have `path`.
    Sidecar,
}

impl ManifestKind {
    /// What people call it.
    const fn noun(self) -> &'static str {
        match self {
            Self::Root => "manifest",
            Self::Sidecar => "sidecar",
        }
    }
}

/// A manifest or sidecar that was read and is valid in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    kind: ManifestKind,
    name: String,
    path: Option<DataPath>,
    format: Option<String>,
    sha256: Option<Digest>,
    block_size: Option<NonZeroU32>,
    requires: Requirements,
}

/// Where the data lies, relative to the manifest: a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPath {
    path: String,
    is_folder: bool,
}

impl DataPath {
    /// With single slashes between its parts and none at its ends; empty for the manifest's own folder.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Whether it can only be a folder: it was written with a slash at its end, or is the manifest's own. Without, it may
    /// be either.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.is_folder
    }
}

impl Manifest {
    /// Reads a manifest or sidecar. `name` is the name of its file, for messages.
    ///
    /// # Errors
    ///
    /// When it is too large, no JSON, or has faults, which are all told at once.
    pub fn parse(
        name: &str,
        kind: ManifestKind,
        bytes: &[u8],
    ) -> Result<(Self, Vec<ManifestWarning>), ManifestProblem> {
        read::read(name, kind, bytes)
    }

    /// Which of the two it is.
    #[must_use]
    pub fn kind(&self) -> ManifestKind {
        self.kind
    }

    /// The name of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the data lies. A manifest has it, a sidecar has not.
    #[must_use]
    pub fn path(&self) -> Option<&DataPath> {
        self.path.as_ref()
    }

    /// The name of the trace format. A manifest has it, a sidecar may have it.
    #[must_use]
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// The digest of the data file as it is stored.
    #[must_use]
    pub fn sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// How many tokens a block of the prefix cache has, for formats with hash ids.
    #[must_use]
    pub fn block_size(&self) -> Option<NonZeroU32> {
        self.block_size
    }
}
