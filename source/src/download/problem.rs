//! What only goes wrong with downloads.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use reprise_contract::Digest;

/// Why what arrived is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadProblem {
    /// Other bytes than were promised.
    #[error("its sha256 is {actual}, and {origin} says {expected}. {}", origin.remedy())]
    Digest {
        /// Of what arrived.
        actual: Digest,
        /// What was promised.
        expected: Digest,
        /// By whom.
        origin: DigestOrigin,
    },
    /// The disk, or what this user may use of it.
    #[error(
        "there is no room for it in {}. Free some, or move the cache, and run again: what has come so far is kept.",
        folder.display()
    )]
    NoRoom {
        /// Where it was written to.
        folder: PathBuf,
    },
    /// Any other failure to write.
    #[error("writing {} failed: {error}. Check the folder's permissions and the disk.", path.display())]
    Write {
        /// Where it was written to.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

/// Who promised a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestOrigin {
    /// The manifest of the trace.
    Manifest,
    /// The place that the trace lies at.
    Place,
}

impl DigestOrigin {
    fn remedy(self) -> &'static str {
        match self {
            Self::Manifest => "Correct the digest in the manifest, or ask the publisher to.",
            Self::Place => "Run again to download it anew; if that does not help, tell the publisher.",
        }
    }
}

impl fmt::Display for DigestOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Manifest => "its manifest",
            Self::Place => "the place that it comes from",
        })
    }
}

impl DownloadProblem {
    pub(crate) fn of_write(error: io::Error, path: &Path) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoRoom {
                    folder: path.parent().unwrap_or(path).to_owned(),
                }
            }
            _ => Self::Write {
                path: path.to_owned(),
                error,
            },
        }
    }
}
