//! What goes wrong with the cache, in words for people.

use std::io;
use std::path::{Path, PathBuf};

/// A cache that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("Cannot use the cache {}: {problem}", root.display())]
pub struct CacheError {
    root: PathBuf,
    #[source]
    problem: CacheProblem,
}

impl CacheError {
    pub(crate) fn new(root: &Path, problem: CacheProblem) -> Self {
        Self {
            root: root.to_owned(),
            problem,
        }
    }

    /// The folder of the cache, as far as it is known.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What went wrong.
    #[must_use]
    pub fn problem(&self) -> &CacheProblem {
        &self.problem
    }
}

/// What went wrong with the cache and how to fix it: what follows `Cannot use the cache <folder>: `.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheProblem {
    /// Neither a folder for the cache nor a home folder is named.
    #[error("it is not known where it should be. Set REPRISE_CACHE_DIR to a folder, or HOME.")]
    NoFolder,
    /// `REPRISE_CACHE_MAX_BYTES` is not a size.
    #[error(
        "REPRISE_CACHE_MAX_BYTES is not a size. Write a number of bytes, or one with a unit, such as 50GiB."
    )]
    Limit,
    /// The folder was there before, with something else in it.
    #[error(
        "the folder has files in it that are not of a cache of Reprise. Set REPRISE_CACHE_DIR to an empty folder, or to \
         one that does not exist yet."
    )]
    NotOurs,
    /// Permissions, or a read-only file system.
    #[error(
        "this user may not write to it ({0}). Change its owner or its permissions, or set REPRISE_CACHE_DIR to another \
         folder."
    )]
    NotPermitted(#[source] io::Error),
    /// No space, no inodes, or the user's quota is used up.
    #[error(
        "its disk is full ({0}). Free some space, for instance with `reprise cache prune`, or set REPRISE_CACHE_DIR to a \
         folder on a larger disk."
    )]
    Full(#[source] io::Error),
    /// Somebody else wrote to a file that only we write to.
    #[error(
        "a file in it changed while it was being written. See to it that nothing but Reprise writes there, and try \
         again."
    )]
    Meddled,
    /// Any other failure of the disk.
    #[error(
        "reading or writing in it failed ({0}). Check the folder and its disk, or set REPRISE_CACHE_DIR to another folder."
    )]
    Disk(#[source] io::Error),
}

impl From<io::Error> for CacheProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full(error)
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::NotPermitted(error),
            _ => Self::Disk(error),
        }
    }
}
