//! Small files that are there as a whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How the names of files begin that are not complete yet.
pub(super) const TEMPORARY: &str = ".tmp-";

/// Writes a file, readable for this user only, by way of `temporary`, a folder of the same file system. It survives a
/// crash of the machine.
pub(super) fn write(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(temporary)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder_of(path)
}

/// Makes what was renamed into the folder survive a crash of the machine.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if_there(fs::read(path))
}

/// Removes a file; whether it was there.
pub(super) fn remove_if_there(path: &Path) -> io::Result<bool> {
    Ok(if_there(fs::remove_file(path))?.is_some())
}

/// `None` instead of an error when there is no such file.
pub(super) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an open file is still the one at this path.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let identity = |file: Metadata| (file.dev(), file.ino());
    let there = if_there(fs::metadata(path))?;
    Ok(there.map(identity) == Some(identity(file.metadata()?)))
}
