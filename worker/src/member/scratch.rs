//! The folder for what does not fit into memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "Cannot use {} for a worker's files: {source}. Set REPRISE_SCRATCH to a folder that can be written to, with room for the shard.",
    folder.display()
)]
pub struct ScratchError {
    /// The folder.
    pub folder: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// The folder of this life of the worker: removed when this is dropped, left to the pod's end when the process is killed.
#[derive(Debug)]
pub(super) struct Scratch(TempDir);

impl Scratch {
    /// A new folder inside the given one, or among the system's temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn new(inside: Option<&Path>) -> Result<Self, ScratchError> {
        let inside = inside.map_or_else(std::env::temp_dir, Path::to_owned);
        let made = fs::create_dir_all(&inside).and_then(|()| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("reprise-worker-").tempdir_in(&inside)
        });
        match made {
            Ok(folder) => Ok(Self(folder)),
            Err(source) => Err(ScratchError {
                folder: inside,
                source,
            }),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A folder of that name inside, made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn part(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let folder = self.folder().join(name);
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(folder),
            Err(source) => Err(ScratchError { folder, source }),
        }
    }
}
