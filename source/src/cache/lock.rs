//! Locks that the kernel holds for a process, and lets go of when the process ends, however it ends.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
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

/// NFS without a lock service, and file systems in user space that leave locks out.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
    )
}
