//! Locks that the kernel holds for a process, and lets go of when the process ends, however it ends.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::io::Errno;

use super::disk;

/// How files are locked. Tests put file systems without locks in its place.
#[derive(Clone, Copy)]
pub(super) struct Locking {
    pub(super) exclusive: fn(&File) -> Result<(), TryLockError>,
    pub(super) shared: fn(&File) -> io::Result<()>,
}

/// What came of asking for an exclusive lock.
#[derive(Debug)]
pub(super) enum Lock {
    Mine(File),
    /// Another process has it.
    Taken,
    /// This file system has no locks, or none that keep anybody out. The file is open and not locked.
    None(File),
}

impl Locking {
    pub(super) const KERNEL: Self = Self {
        exclusive: File::try_lock,
        shared: File::lock_shared,
    };

    /// Locks a lock file, and makes it where it is missing.
    pub(super) fn take(self, path: &Path) -> io::Result<Lock> {
        let open = || {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600);
            options.open(path)
        };
        loop {
            let file = open()?;
            match (self.exclusive)(&file) {
                Ok(()) if !disk::is_at(&file, path)? => {
                    // Whoever had it removed the file between our opening and our locking it.
                }
                // A lock that can be had twice is none.
                Ok(()) if (self.exclusive)(&open()?).is_ok() => return Ok(Lock::None(file)),
                Ok(()) => return Ok(Lock::Mine(file)),
                Err(TryLockError::WouldBlock) => return Ok(Lock::Taken),
                Err(TryLockError::Error(error)) if is_unsupported(&error) => return Ok(Lock::None(file)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Locks a file that others may hold shared locks on; `None` when there is no such file. It stays as it is.
    pub(super) fn reserve(self, path: &Path) -> io::Result<Option<Lock>> {
        let mut is_writable = false;
        let open = |is_writable| {
            if is_writable {
                open_to_write(path)
            } else {
                File::open(path)
            }
        };
        while let Some(file) = disk::if_there(open(is_writable))? {
            match (self.exclusive)(&file) {
                Ok(()) if !disk::is_at(&file, path)? => {}
                Ok(()) if File::open(path).is_ok_and(|again| (self.exclusive)(&again).is_ok()) => {
                    return Ok(Some(Lock::None(file)));
                }
                Ok(()) => return Ok(Some(Lock::Mine(file))),
                Err(TryLockError::WouldBlock) => return Ok(Some(Lock::Taken)),
                // NFS locks exclusively only what is open for writing.
                Err(TryLockError::Error(error))
                    if Errno::from_io_error(&error) == Some(Errno::BADF) && !is_writable =>
                {
                    is_writable = true;
                }
                Err(TryLockError::Error(error)) if is_unsupported(&error) => {
                    return Ok(Some(Lock::None(file)));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// A shared lock on an open file. Without locks on this file system it is merely open.
    pub(super) fn share(self, file: &File) -> io::Result<()> {
        loop {
            match (self.shared)(file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_unsupported(&error) => return Ok(()),
                result => return result,
            }
        }
    }
}

impl fmt::Debug for Locking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locking").finish_non_exhaustive()
    }
}

/// Opens a file for writing that is read-only, and leaves it so.
fn open_to_write(path: &Path) -> io::Result<File> {
    let permissions = fs::metadata(path)?.permissions();
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let file = OpenOptions::new().read(true).write(true).open(path);
    fs::set_permissions(path, permissions)?;
    file
}

/// NFS without a lock service, and file systems in user space that leave locks out.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
    )
}
