//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("Cannot write {}: {source}. Choose a folder that exists, is writable and has room.", path.display())]
pub struct WriteError {
    /// The file's final path.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A file under a temporary name in the folder of its final one. Dropped without [`Self::publish`], it vanishes.
#[derive(Debug)]
pub(crate) struct PendingFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl PendingFile {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteError> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let prefix = format!(".{}.", path.file_name().unwrap_or_default().display());
        // Made by `File::create_new` and not by the library, whose files only their owner can read.
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .make_in(folder, |temporary| File::create_new(temporary))
            .map_err(|source| WriteError {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Makes the file durable and gives it its final name, in place of a file that had it before.
    pub(crate) fn publish(self) -> Result<PathBuf, WriteError> {
        let Self { path, file } = self;
        let published = file
            .as_file()
            .sync_all()
            .and_then(|()| file.persist(&path).map_err(Into::into));
        match published {
            Ok(_) => Ok(path),
            Err(source) => Err(WriteError { path, source }),
        }
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes `bytes` to `path`, whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<PathBuf, WriteError> {
    let mut file = PendingFile::create(path)?;
    file.write_all(bytes).map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })?;
    file.publish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn an_unpublished_file_leaves_the_old_one_and_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"old").unwrap();
        let mut pending = PendingFile::create(&path).unwrap();
        pending.write_all(b"half of the ne").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()).len(), 2);
        drop(pending);
        assert_eq!(names(folder.path()), ["a.txt"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn publishing_replaces_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(&folder.path().join("none/a.txt"), b"").unwrap_err();
        assert!(error.to_string().contains("none/a.txt"), "{error}");
    }
}
