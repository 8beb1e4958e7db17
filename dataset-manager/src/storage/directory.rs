//! Results in a folder of this machine, which may be a mounted volume.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use reprise_contract::digest::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::files::{ResultFile, blocking};
use super::progress::Meter;
use super::{AttemptFolder, SUMMARY_FILE, StorageProblem};

/// Files that are not whole are called so.
const PARTIAL: &str = ".partial-";

/// Why results cannot be stored in a folder.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryProblem {
    /// Permissions, or a read-only file system.
    #[error(
        "this user may not write to it ({0}). Change its owner or its permissions, or name another folder."
    )]
    NotPermitted(#[source] io::Error),
    /// No space, no inodes, or the user's quota is used up.
    #[error("its disk is full ({0}). Free some space, or name a folder on a larger disk.")]
    Full(#[source] io::Error),
    /// A file of this name has another content.
    #[error("it has another {0} already. Name another folder, or move that one away.")]
    Taken(String),
    /// What was read back is not what was written.
    #[error("{0} came back from the disk as something else. Check the disk, and try again.")]
    Garbled(String),
    /// Any other failure of the disk.
    #[error("reading or writing in it failed ({0}). Check the folder and its disk, or name another folder.")]
    Disk(#[source] io::Error),
}

impl From<io::Error> for DirectoryProblem {
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

/// The folder of an attempt.
#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new(root: &Path, attempt: &AttemptFolder) -> Self {
        let mut path = root.to_owned();
        path.extend(attempt.parts());
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) async fn check(&self) -> Result<(), DirectoryProblem> {
        let folder = self.0.clone();
        blocking(move || {
            fs::create_dir_all(&folder)?;
            if folder.join(SUMMARY_FILE).try_exists()? {
                return Err(DirectoryProblem::Taken(SUMMARY_FILE.to_owned()));
            }
            let mut file = partial(&folder)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            Ok(file.close()?)
        })
        .await
    }

    pub(super) async fn store(&self, file: &ResultFile, meter: &Meter<'_>) -> Result<(), StorageProblem> {
        if self.has(file).await? {
            meter.add(file.bytes);
            return Ok(());
        }
        let folder = self.0.clone();
        let mut copy = blocking(move || {
            fs::create_dir_all(&folder)?;
            partial(&folder)
        })
        .await
        .map_err(DirectoryProblem::from)?;
        for part in &file.parts {
            let content = file.read(*part).await?;
            let written = blocking(move || copy.write_all(&content).map(|()| copy)).await;
            copy = written.map_err(DirectoryProblem::from)?;
            meter.add(u64::try_from(part.bytes).unwrap_or(u64::MAX));
        }
        let (folder, name, sha256) = (self.0.clone(), file.name.clone(), file.sha256);
        blocking(move || publish(copy, &folder, name, sha256)).await?;
        Ok(())
    }

    /// Whether the file is there already.
    async fn has(&self, file: &ResultFile) -> Result<bool, DirectoryProblem> {
        let path = self.0.join(&file.name);
        let (name, sha256) = (file.name.clone(), file.sha256);
        blocking(move || match read_back(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
            Ok(found) if found == sha256 => Ok(true),
            Ok(_) => Err(DirectoryProblem::Taken(name)),
        })
        .await
    }
}

/// A file that goes again unless it is published.
fn partial(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(PARTIAL)
        // Results are for others to read, as far as the user's mask allows it.
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(folder)
}

/// Gives a whole file its name, once it is known to be on the disk as it should be.
fn publish(copy: NamedTempFile, folder: &Path, name: String, sha256: Digest) -> Result<(), DirectoryProblem> {
    copy.as_file().sync_all()?;
    if read_back(copy.path())? != sha256 {
        return Err(DirectoryProblem::Garbled(name));
    }
    match copy.persist_noclobber(folder.join(&name)) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(DirectoryProblem::Taken(name));
        }
        Err(error) => return Err(error.error.into()),
    }
    Ok(File::open(folder)?.sync_all()?)
}

fn read_back(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_bytes(hasher.finalize().into())),
            read => hasher.update(&buffer[..read]),
        }
    }
}
