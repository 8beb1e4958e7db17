//! Paths on this machine as a place like the others: what is there is not fetched, and has no version.

mod listing;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::stream;

use crate::error::Problem;
use crate::remote::{Body, Found, Remote, RemoteFile, Shape, Span};
use crate::store::Kept;
pub use listing::is_parquet;

/// A path.
#[derive(Clone, Debug)]
pub(crate) struct LocalPlace {
    path: PathBuf,
}

impl LocalPlace {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Where a file lies. Its location is its path below the folder, or the name of a file beside the one that was named;
    /// nothing for that one itself, whose path need not be text.
    pub(crate) fn path_of(&self, file: &RemoteFile) -> PathBuf {
        match file.location.as_str() {
            "" => self.path.clone(),
            location if self.path.is_dir() => self.path.join(location),
            location => self.path.with_file_name(location),
        }
    }

    /// Whether a file is Parquet.
    pub(crate) fn is_parquet(&self, file: &RemoteFile) -> bool {
        listing::is_parquet_file(&self.path_of(file))
    }

    fn in_folder(&self, name: String) -> RemoteFile {
        let metadata = self.path.join(&name).metadata();
        RemoteFile {
            location: name.clone(),
            name,
            size: metadata.ok().map(|metadata| metadata.len()),
            sha256: None,
            tag: None,
        }
    }

    /// The file as it is: it need not be fetched.
    pub(crate) fn find(&self, file: &RemoteFile) -> Result<Kept, Problem> {
        let path = self.path_of(file);
        let metadata = path.metadata().map_err(Problem::from_file)?;
        Ok(Kept {
            bytes: metadata.len(),
            path,
            sha256: None,
            in_use: None,
        })
    }
}

impl Remote for LocalPlace {
    async fn look_up(&self) -> Result<Found, Problem> {
        let metadata = fs::metadata(&self.path).map_err(Problem::from_file)?;
        let shape = if metadata.is_dir() {
            let files = listing::list(&self.path)?;
            Shape::Folder(files.into_iter().map(|name| self.in_folder(name)).collect())
        } else {
            let name = self.path.file_name().unwrap_or(self.path.as_os_str());
            Shape::File(RemoteFile {
                name: name.to_string_lossy().into_owned(),
                location: String::new(),
                // A pipe has none.
                size: metadata.is_file().then_some(metadata.len()),
                sha256: None,
                tag: None,
            })
        };
        Ok(Found {
            version: None,
            canonical: None,
            shape,
        })
    }

    async fn beside(&self, _: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        let metadata = self.path.with_file_name(name).metadata();
        let is_there = self.path.is_file() && metadata.as_ref().is_ok_and(fs::Metadata::is_file);
        Ok(is_there.then(|| RemoteFile {
            name: name.to_owned(),
            location: name.to_owned(),
            size: metadata.ok().map(|metadata| metadata.len()),
            sha256: None,
            tag: None,
        }))
    }

    async fn read(&self, _: &Found, file: &RemoteFile, span: Span) -> Result<Body, Problem> {
        let path = self.path_of(file);
        let read = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(span.from))?;
            let mut bytes = Vec::new();
            file.take(span.length.unwrap_or(u64::MAX))
                .read_to_end(&mut bytes)?;
            Ok(Bytes::from(bytes))
        };
        let bytes = read().map_err(Problem::from_file)?;
        Ok(Body {
            from: span.from,
            total: file.size,
            bytes: Box::pin(stream::iter([Ok(bytes)])),
        })
    }
}
