//! All the places where one result goes.

use std::io;
use std::path::{Path, PathBuf};

use reprise_crds::Results;

use super::{
    AttemptFolder, AttemptFolderError, ResultStore, ResultsCredentials, S3Problem, StorageError,
    StoreProgress,
};

/// All the places where one result goes: none, a folder, a bucket, or both.
#[derive(Debug)]
pub struct Stores(Vec<ResultStore>);

/// A result that cannot be stored. Its text is the whole message, and holds no credential.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    /// The run has no name that a folder can have.
    #[error(transparent)]
    Attempt(#[from] AttemptFolderError),
    /// The credentials for results are not there.
    #[error("Cannot store results in {url}: {problem}")]
    Credentials {
        /// Where they should go.
        url: String,
        /// What is wrong.
        problem: S3Problem,
    },
    /// One of the places refuses.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The result's own folder cannot be read.
    #[error("Cannot store the result in {}: it cannot be read: {source}. Check the disk.", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Whose result it is.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The name of the run.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// Which attempt at it, from 1.
    pub number: u32,
}

impl Stores {
    /// The places that a spec and whoever runs it name. The credentials of a bucket come from the environment.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn of(results: &Results, folder: Option<&Path>, attempt: Attempt<'_>) -> Result<Self, StoresError> {
        let s3 = results.s3.as_ref();
        if folder.is_none() && s3.is_none() {
            return Ok(Self(Vec::new()));
        }
        let attempt = AttemptFolder::new(attempt.name, attempt.uid, attempt.number)?;
        let mut stores = Vec::new();
        if let Some(folder) = folder {
            stores.push(ResultStore::directory(folder, &attempt));
        }
        if let Some(s3) = s3 {
            let credentials = ResultsCredentials::from_variables(|name| std::env::var(name).ok());
            let credentials = credentials.map_err(|problem| StoresError::Credentials {
                url: s3.url.clone(),
                problem,
            })?;
            stores.push(ResultStore::s3(s3, credentials, &attempt)?);
        }
        Ok(Self(stores))
    }

    /// Finds out whether they take anything, before there is a result.
    ///
    /// # Errors
    /// When one of them does not.
    pub async fn check(&self) -> Result<(), StoresError> {
        for store in &self.0 {
            store.check().await?;
        }
        Ok(())
    }

    /// Stores every file of `folder` in all of them, and says where.
    ///
    /// # Errors
    /// When one of them does not take it; the files in `folder` stay as they are.
    pub async fn store(
        &self,
        folder: &Path,
        progress: &StoreProgress<'_>,
    ) -> Result<Vec<String>, StoresError> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let files = files(folder).map_err(|source| StoresError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        let mut places = Vec::new();
        for store in &self.0 {
            places.push(store.store(&files, progress).await?.place);
        }
        Ok(places)
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}
