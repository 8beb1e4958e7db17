//! Claims: who writes which partial file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::entry::FileKey;
use super::layout::Layout;
use super::lock::Lock;
use super::problem::CacheProblem;
use super::{Cache, disk};
use crate::store::Claim;

/// Another machine that writes shows it by then. Its kernel may keep what it writes to itself for half a minute.
const QUIET: Duration = Duration::from_mins(1);

/// What a lock file says of its holder. The lock is what counts; this is for people, and for file systems whose locks
/// bind one machine only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// What is fetched, for people; redacted.
    pub(super) place: String,
    pub(super) name: String,
    /// Told by its boot, so that containers on one kernel count as one machine.
    pub(super) machine: Option<String>,
}

impl Note {
    /// `None` when there is none, or it is being written.
    pub(super) fn read(layout: &Layout, key: &str) -> io::Result<Option<Self>> {
        let bytes = disk::read_if_there(&layout.lock(key))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn write(&self, mut lock: &File) -> io::Result<()> {
        lock.rewind()?;
        lock.set_len(0)?;
        serde_json::to_writer(lock, self)?;
        lock.flush()
    }
}

impl Cache {
    /// The right to write the partial file of a key; `None` while somebody has it.
    pub(super) fn claim(&self, key: &FileKey, note: &Note) -> Result<Option<Claim>, CacheProblem> {
        if key.version.is_some() {
            match self.locking.take(&self.layout.lock(&key.key))? {
                Lock::Mine(_) if self.is_written_elsewhere(&key.key, note)? => return Ok(None),
                Lock::Mine(lock) => return self.claimed(&key.key, lock, note).map(Some),
                Lock::Taken => return Ok(None),
                Lock::None(_) => {}
            }
        }
        // Nobody goes on with these bytes: they are of no known version, or two could write them at once.
        let lock = tempfile::Builder::new()
            .prefix(&format!("{}-", key.key))
            .suffix(".lock")
            .tempfile_in(&self.layout.locks)?;
        let (_, path) = lock.keep().map_err(io::Error::from)?;
        match (self.locking.take(&path)?, unique_key(&path)) {
            (Lock::Mine(lock) | Lock::None(lock), Some(key)) => self.claimed(key, lock, note).map(Some),
            _ => Ok(None),
        }
    }

    /// Gives a claim up whose partial file is gone.
    pub(super) fn release(&self, claim: Claim) -> Result<(), CacheProblem> {
        if let Some(key) = claim.partial.file_name().and_then(|name| name.to_str()) {
            // While it is still locked: who has it open already sees that it is gone, and opens a new one.
            disk::remove_if_there(&self.layout.lock(key))?;
        }
        drop(claim.lock);
        Ok(())
    }

    /// Makes the partial file where there is none. Only this user may read it.
    fn claimed(&self, key: &str, lock: File, note: &Note) -> Result<Claim, CacheProblem> {
        note.write(&lock)?;
        let partial = self.layout.partial(key);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options
            .open(&partial)?
            .set_permissions(Permissions::from_mode(0o600))?;
        Ok(Claim { partial, lock })
    }

    /// Whether another machine had this claim last and wrote just now: then its lock may bind nobody here.
    fn is_written_elsewhere(&self, key: &str, note: &Note) -> Result<bool, CacheProblem> {
        let last = Note::read(&self.layout, key)?.and_then(|last| last.machine);
        let (Some(last), Some(ours)) = (&last, &note.machine) else {
            return Ok(false);
        };
        if last == ours {
            return Ok(false);
        }
        let Some(partial) = disk::if_there(fs::metadata(self.layout.partial(key)))? else {
            return Ok(false);
        };
        let quiet = SystemTime::now().duration_since(partial.modified()?);
        Ok(quiet.is_ok_and(|quiet| quiet < QUIET))
    }
}

/// What tells this machine from others, for as long as it runs.
pub(super) fn machine() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn unique_key(lock: &Path) -> Option<&str> {
    lock.file_stem()?.to_str()
}
