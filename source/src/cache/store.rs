//! The store that a fetch writes to: the part of the cache that belongs to one place.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::SystemTime;

use reprise_contract::Digest;

use super::claim::Note;
use super::entry::{Entry, FileKey};
use super::object::Held;
use super::pin::{Pin, Remembered};
use super::place::PlaceKey;
use super::problem::{CacheError, CacheProblem};
use super::{Cache, disk};
use crate::error::Problem;
use crate::reference::redact;
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
        let remember = || {
            let beside = beside.iter().map(|file| self.proved(found, file));
            let beside: Vec<_> = beside.collect::<Result<_, _>>()?;
            let needs = needs.iter().map(|file| self.key(found, file).key).collect();
            let pin = Pin::new(&self.place, version.clone(), found, &beside, needs);
            pin.write(&self.cache.layout, &self.place)
        };
        match remember() {
            // A cache that was filled beforehand and may only be read has it already, or does without.
            Err(CacheProblem::NotPermitted(_)) => Ok(()),
            result => result.map_err(|problem| self.problem(problem)),
        }
    }

    /// The version that was seen last of those whose files are all here.
    pub(crate) fn newest(&self) -> Result<Option<Remembered>, Problem> {
        self.remembered(|_| true)
    }

    /// What the place holds in this version, if that was seen and its files are all here.
    pub(crate) fn of_version(&self, version: &Version) -> Result<Option<Remembered>, Problem> {
        self.remembered(|known| known == version)
    }

    /// Forgets a file and its content, as damage does.
    #[cfg(test)]
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
            let Some(entry) = Entry::read(&self.cache.layout, key)? else {
                return Ok(false);
            };
            let content = disk::if_there(fs::metadata(self.cache.layout.object(entry.sha256)))?;
            if content.is_none_or(|content| content.len() != entry.bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The file with the digest of what is kept of it, where that is all there is to find it by.
    fn proved(&self, found: &Found, file: &RemoteFile) -> Result<RemoteFile, CacheProblem> {
        let FileKey { key, version } = self.key(found, file);
        let mut file = file.clone();
        if version.is_none() && file.sha256.is_none() {
            file.sha256 = Entry::read(&self.cache.layout, &key)?.map(|entry| entry.sha256);
        }
        Ok(file)
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
        let kept = match (version, file.sha256) {
            (Some(_), _) => self.open(&key)?.map(|(entry, held)| (entry.sha256, held)),
            (None, Some(sha256)) => {
                let Cache { layout, locking, .. } = &self.cache;
                Held::open(layout, *locking, sha256)?.map(|held| (sha256, held))
            }
            (None, None) => None,
        };
        let fits = |(sha256, held): &(Digest, Held)| {
            file.size.is_none_or(|size| size == held.bytes)
                && file.sha256.is_none_or(|announced| announced == *sha256)
        };
        let Some((sha256, held)) = kept.filter(fits) else {
            return Ok(None);
        };
        self.used_now(&key)?;
        Ok(Some(self.kept(sha256, held)))
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
        let note = Note {
            place: self.place.to_string(),
            name: redact(&file.name),
            machine: self.cache.machine.clone(),
        };
        self.cache.claim(&self.key(found, file), &note)
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
            self.cache.release(claim)?;
            return Err(CacheProblem::Meddled);
        }
        let held = Held::publish(layout, *locking, &claim.partial, sha256)?;
        let FileKey { key, .. } = self.key(found, file);
        Entry::new(&self.place, found, file, held.bytes, sha256).write(layout, &key)?;
        self.cache.release(claim)?;
        self.cache.keep_limit()?;
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
