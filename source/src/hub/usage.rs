//! How much the Hugging Face cache takes, which other tools fill as well.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::settings;

/// The Hugging Face cache on this machine. Reprise removes nothing from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HubCacheUsage {
    /// Its folder, which need not exist.
    pub folder: PathBuf,
    /// How large the files in it are together; a link counts nothing.
    pub bytes: u64,
}

impl HubCacheUsage {
    /// Of the cache that this user's environment names; `None` where nothing names one.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn of_environment() -> io::Result<Option<Self>> {
        let Some(folder) = settings::cache_folder() else {
            return Ok(None);
        };
        let bytes = size(&folder)?;
        Ok(Some(Self { folder, bytes }))
    }
}

/// What other tools remove meanwhile does not count.
fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let files = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            files => files?,
        };
        for file in files {
            let file = file?;
            match file.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(file.path()),
                Ok(metadata) if metadata.is_file() => bytes += metadata.len(),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_and_links_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("hub");
        assert_eq!(size(&root).unwrap(), 0);
        fs::create_dir_all(root.join("datasets--a--b/blobs")).unwrap();
        fs::write(root.join("datasets--a--b/blobs/x"), b"12345").unwrap();
        fs::write(root.join("version.txt"), b"1").unwrap();
        std::os::unix::fs::symlink(root.join("datasets--a--b/blobs/x"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
        assert_eq!(size(&root).unwrap(), 6);
    }
}
