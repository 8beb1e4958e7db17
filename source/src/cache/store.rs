//! The store that a fetch writes to: the part of the cache that belongs to one place.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::time::SystemTime;

use reprise_contract::Digest;

use super::entry::{Entry, FileKey};
use super::lock::Lock;
use super::object::Held;
use super::pin::{Pin, Remembered};
use super::place::PlaceKey;
use super::problem::{CacheError, CacheProblem};
use super::{Cache, disk};
use crate::error::Problem;
use crate::remote::{Found, RemoteFile};
use crate::store::{Claim, Kept, Store};
use crate::version::Version;

/// What the cache holds of one place.
#[derive(Debug)]
pub(crate) struct CachedPlace {
    cache: Cache,
    place: PlaceKey,
}

impl CachedPlace {
    pub(super) fn new(cache: Cache, place: PlaceKey) -> Self {
        Self { cache, place }
    }

    /// Remembers what the place was found to hold, once the files that a run `needs` are kept. What has no version is not
    /// remembered, since it could not be found again either.
    pub(crate) fn remember(
        &self,
        found: &Found,
        beside: &[RemoteFile],
        needs: &[RemoteFile],
    ) -> Result<(), Problem> {
        let Some(version) = &found.version else {
            return Ok(());
        };
        let needs = needs.iter().map(|file| self.key(found, file).key).collect();
        let pin = Pin::new(&self.place, version.clone(), found, beside, needs);
        pin.write(&self.cache.layout, &self.place)
            .map_err(|problem| self.problem(problem))
    }

    /// The version that was seen last of those whose files are all here.
    pub(crate) fn newest(&self) -> Result<Option<Remembered>, Problem> {
        self.remembered(|_| true)
    }

    /// What the place holds in this version, if that was seen and its files are all here.
    pub(crate) fn of_version(&self, version: &Version) -> Result<Option<Remembered>, Problem> {
        self.remembered(|known| known == version)
    }

    /// Forgets the content of a file that turned out to be damaged, so that it is fetched again.
    pub(crate) fn discard(&self, found: &Found, file: &RemoteFile) -> Result<(), Problem> {
        let discard = || {
            let FileKey { key, .. } = self.key(found, file);
            let layout = &self.cache.layout;
            if let Some(entry) = Entry::read(layout, &key)? {
                disk::remove_if_there(&layout.object(entry.sha256))?;
            }
            disk::remove_if_there(&layout.entry(&key))?;
            Ok(())
        };
        discard().map_err(|problem| self.problem(problem))
    }

    fn key(&self, found: &Found, file: &RemoteFile) -> FileKey {
        FileKey::new(&self.place, found, file)
    }

    fn problem(&self, problem: CacheProblem) -> Problem {
        Problem::Cache(CacheError::new(self.cache.root(), problem))
    }

    fn remembered(&self, is_wanted: impl Fn(&Version) -> bool) -> Result<Option<Remembered>, Problem> {
        let find = || {
            let layout = &self.cache.layout;
            for pin in Pin::all(layout, &self.place)? {
                if is_wanted(pin.version())
                    && self.has_all(&pin.needs)?
                    && let Some(remembered) = pin.remembered()
                {
                    return Ok(Some(remembered));
                }
            }
            Ok(None)
        };
        find().map_err(|problem| self.problem(problem))
    }

    fn has_all(&self, keys: &[String]) -> Result<bool, CacheProblem> {
        for key in keys {
            if self.open(key)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The file of this key, if it is there and as long as it was.
    fn open(&self, key: &str) -> Result<Option<(Entry, Held)>, CacheProblem> {
        let Cache { layout, locking, .. } = &self.cache;
        let Some(entry) = Entry::read(layout, key)? else {
            return Ok(None);
        };
        let held = Held::open(layout, *locking, entry.sha256)?;
        Ok(held
            .filter(|held| held.bytes == entry.bytes)
            .map(|held| (entry, held)))
    }

    fn kept(&self, sha256: Digest, held: Held) -> Kept {
        Kept {
            path: self.cache.layout.object(sha256),
            bytes: held.bytes,
            sha256: Some(sha256),
            in_use: Some(held.in_use),
        }
    }

    fn find_file(&self, found: &Found, file: &RemoteFile) -> Result<Option<Kept>, CacheProblem> {
        let FileKey { key, version } = self.key(found, file);
        if version.is_none() {
            return Ok(None);
        }
        let Some((entry, held)) = self.open(&key)? else {
            return Ok(None);
        };
        let is_other = |told: Option<bool>| told == Some(false);
        if is_other(file.size.map(|size| size == entry.bytes))
            || is_other(file.sha256.map(|sha256| sha256 == entry.sha256))
        {
            return Ok(None);
        }
        self.used_now(&key)?;
        Ok(Some(self.kept(entry.sha256, held)))
    }

    /// A cache that may only be read has no use for it.
    fn used_now(&self, key: &str) -> Result<(), CacheProblem> {
        let touch = |path: PathBuf| File::open(path)?.set_modified(SystemTime::now());
        match disk::if_there(touch(self.cache.layout.entry(key))) {
            Ok(_) => Ok(()),
            Err(error) => match CacheProblem::from(error) {
                CacheProblem::NotPermitted(_) => Ok(()),
                problem => Err(problem),
            },
        }
    }

    fn claim_file(&self, found: &Found, file: &RemoteFile) -> Result<Option<Claim>, CacheProblem> {
        let Cache { layout, locking, .. } = &self.cache;
        let FileKey { key, version } = self.key(found, file);
        if version.is_some() {
            match locking.take(&layout.lock(&key))? {
                Lock::Mine(lock) => return Ok(Some(self.partial(&key, lock)?)),
                Lock::Taken => return Ok(None),
                Lock::None(_) => {}
            }
        }
        // Nobody goes on with these bytes: they are of no known version, or two could write them at once.
        let name = tempfile::Builder::new()
            .prefix(&format!("{key}-"))
            .suffix(".lock")
            .tempfile_in(&layout.locks)?;
        let (_, path) = name.keep().map_err(io::Error::from)?;
        let key = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(&key);
        match locking.take(&path)? {
            Lock::Mine(lock) | Lock::None(lock) => Ok(Some(self.partial(key, lock)?)),
            Lock::Taken => Ok(None),
        }
    }

    /// Only this user may read what comes.
    fn partial(&self, key: &str, lock: File) -> Result<Claim, CacheProblem> {
        let partial = self.cache.layout.partial(key);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        options
            .open(&partial)?
            .set_permissions(Permissions::from_mode(0o600))?;
        Ok(Claim { partial, lock })
    }

    fn publish_file(
        &self,
        found: &Found,
        file: &RemoteFile,
        claim: Claim,
        sha256: Digest,
    ) -> Result<Kept, CacheProblem> {
        let Cache { layout, locking, .. } = &self.cache;
        let bytes = fs::metadata(&claim.partial)?.len();
        if file.size.is_some_and(|size| size != bytes) {
            disk::remove_if_there(&claim.partial)?;
            return Err(CacheProblem::Meddled);
        }
        let held = Held::publish(layout, *locking, &claim.partial, sha256)?;
        let FileKey { key, .. } = self.key(found, file);
        Entry::new(&self.place, found, file, held.bytes, sha256).write(layout, &key)?;
        if let Some(name) = claim.partial.file_name().and_then(|name| name.to_str()) {
            // While it is still locked: whoever waits for it opens a new one.
            disk::remove_if_there(&layout.lock(name))?;
        }
        drop(claim.lock);
        Ok(self.kept(sha256, held))
    }
}

impl Store for CachedPlace {
    fn find(&self, found: &Found, file: &RemoteFile) -> Result<Option<Kept>, Problem> {
        self.find_file(found, file)
            .map_err(|problem| self.problem(problem))
    }

    fn claim(&self, found: &Found, file: &RemoteFile) -> Result<Option<Claim>, Problem> {
        self.claim_file(found, file)
            .map_err(|problem| self.problem(problem))
    }

    fn publish(
        &self,
        found: &Found,
        file: &RemoteFile,
        claim: Claim,
        sha256: Digest,
    ) -> Result<Kept, Problem> {
        self.publish_file(found, file, claim, sha256)
            .map_err(|problem| self.problem(problem))
    }
}
