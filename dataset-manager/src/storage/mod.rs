//! Where the files of a result go: a folder or a bucket.
//!
//! Each attempt has a folder of its own there ([`AttemptFolder`]), and nothing that is there is overwritten. A file is there
//! whole or not at all, and is compared with what was to be stored before it counts. `summary.json` goes last: where it is, all
//! is. To store the same files again is right, and stores what is missing.

mod attempt;
mod directory;
mod files;
mod progress;
mod s3;
mod stores;

use std::fmt;
use std::path::{Path, PathBuf};

use reprise_contract::digest::Digest;
use reprise_crds::ResultsS3;

pub use attempt::{AttemptFolder, AttemptFolderError};
use directory::Directory;
pub use directory::DirectoryProblem;
pub use files::FileProblem;
use files::ResultFiles;
use progress::Meter;
pub use progress::StoreProgress;
use s3::Bucket;
pub use s3::{Action, ResultsCredentials, S3Problem};

pub use stores::{Attempt, Stores, StoresError};

/// The file that is stored last.
pub const SUMMARY_FILE: &str = "summary.json";

/// A place for the result of one attempt.
#[derive(Debug)]
pub struct ResultStore(Kind);

#[derive(Debug)]
enum Kind {
    Directory(Directory),
    S3(Bucket),
}

/// Files that are stored, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The folder of the attempt: a path, or `s3://<bucket>/<prefix>/<name>/<attempt>/`.
    pub place: String,
    /// In the order in which they were stored.
    pub files: Vec<StoredFile>,
}

/// A file that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name in the folder of the attempt.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Of its content.
    pub sha256: Digest,
}

/// A result that cannot be stored. Its text is the whole message, and holds no credential.
#[derive(Debug, thiserror::Error)]
#[error("Cannot store results in {place}: {problem}")]
pub struct StorageError {
    /// The folder of the attempt.
    pub place: String,
    /// What went wrong, and how to fix it.
    #[source]
    pub problem: StorageProblem,
}

/// What went wrong, and how to fix it: what follows `Cannot store results in <place>: `.
#[derive(Debug, thiserror::Error)]
pub enum StorageProblem {
    /// With the files that were to be stored.
    #[error(transparent)]
    File(#[from] FileProblem),
    /// With the folder.
    #[error(transparent)]
    Directory(#[from] DirectoryProblem),
    /// With the bucket.
    #[error(transparent)]
    S3(#[from] S3Problem),
}

impl ResultStore {
    /// A folder of this machine. `root` need not exist.
    #[must_use]
    pub fn directory(root: &Path, attempt: &AttemptFolder) -> Self {
        Self(Kind::Directory(Directory::new(root, attempt)))
    }

    /// A bucket. Nothing but `settings` and `credentials` says where it is and who writes to it; of the environment, only the usual
    /// proxy variables and certificates count.
    ///
    /// # Errors
    /// When `settings.url` names no folder of a bucket, which validation refuses.
    pub fn s3(
        settings: &ResultsS3,
        credentials: ResultsCredentials,
        attempt: &AttemptFolder,
    ) -> Result<Self, StorageError> {
        let bucket = Bucket::new(settings, credentials, attempt).map_err(|problem| StorageError {
            place: settings.url.clone(),
            problem: problem.into(),
        })?;
        Ok(Self(Kind::S3(bucket)))
    }

    /// Finds out whether results can be stored, before there are any. Leaves nothing behind but the folder.
    ///
    /// # Errors
    /// When this attempt has results there already, or when writing is refused.
    pub async fn check(&self) -> Result<(), StorageError> {
        let checked = match &self.0 {
            Kind::Directory(directory) => directory.check().await.map_err(Into::into),
            Kind::S3(bucket) => bucket.check().await.map_err(Into::into),
        };
        checked.map_err(|problem| self.error(problem))
    }

    /// Stores `files`, each under its name, and tells `progress` of bytes that were written.
    ///
    /// # Errors
    /// When a file cannot be read or changes meanwhile, when there is another one of its name, or when the place refuses or
    /// fails for longer than we wait. The files of this machine are as they were in all cases; what was stored before the error
    /// stays there, without `summary.json`.
    pub async fn store(
        &self,
        files: &[PathBuf],
        progress: &StoreProgress<'_>,
    ) -> Result<Stored, StorageError> {
        let stored = self.store_all(files, progress).await;
        let files = stored.map_err(|problem| self.error(problem))?;
        Ok(Stored {
            place: self.to_string(),
            files,
        })
    }

    async fn store_all(
        &self,
        files: &[PathBuf],
        progress: &StoreProgress<'_>,
    ) -> Result<Vec<StoredFile>, StorageProblem> {
        let files = ResultFiles::examine(files).await?;
        let meter = Meter::new(files.bytes(), progress);
        let mut stored = Vec::new();
        for file in files.iter() {
            match &self.0 {
                Kind::Directory(directory) => directory.store(file, &meter).await?,
                Kind::S3(bucket) => bucket.store(file, &meter).await?,
            }
            stored.push(file.stored());
        }
        Ok(stored)
    }

    fn error(&self, problem: StorageProblem) -> StorageError {
        StorageError {
            place: self.to_string(),
            problem,
        }
    }
}

/// The folder of the attempt.
impl fmt::Display for ResultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Directory(directory) => write!(f, "{}", directory.path().display()),
            Kind::S3(bucket) => write!(f, "{}", bucket.folder()),
        }
    }
}

#[cfg(test)]
mod tests;
