//! Removing what is in the cache, and what processes that died left in it. What is in use stays.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use reprise_contract::Digest;
use serde::Serialize;

use super::byte_size::ByteSize;
use super::entry::Entry;
use super::listing::{CachedContent, CachedPartial, files_in, is_abandoned, modified, name, subfolders};
use super::lock::Lock;
use super::pin::Pin;
use super::problem::{CacheError, CacheProblem};
use super::{Cache, disk};

/// What is to be removed from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// Everything.
    All,
    /// What was not used for so long.
    OlderThan(Duration),
    /// What was used least recently, until the rest is at most so large.
    ToSize(ByteSize),
    /// What interrupted downloads left.
    Partials,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Whole files.
    pub contents: Vec<CachedContent>,
    /// What interrupted downloads left.
    pub partials: Vec<CachedPartial>,
    /// What all of that took on the disk.
    pub bytes: u64,
    /// What else should go and stays, because a process uses it: in bytes.
    pub bytes_in_use: u64,
}

/// One thing to be removed.
enum Item {
    Content(CachedContent),
    Partial(CachedPartial),
}

/// What came of the try to remove something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Done,
    /// It is in use, or may be.
    Stays,
    /// Somebody else was faster.
    Gone,
}

/// Who wants something removed.
#[derive(Clone, Copy)]
enum Who {
    /// A person, who can know that it is not in use where locks cannot tell.
    Person,
    /// The size limit.
    Limit,
}

impl Cache {
    /// Removes things from the cache.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read or written.
    pub fn prune(&self, what: Prune) -> Result<Pruned, CacheError> {
        let prune = || {
            let pruned = self.walk(what, |item| self.remove(item, Who::Person))?;
            self.sweep()?;
            Ok(pruned)
        };
        prune().map_err(|problem| CacheError::new(self.root(), problem))
    }

    /// What [`Cache::prune`] would remove now.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read.
    pub fn prunable(&self, what: Prune) -> Result<Pruned, CacheError> {
        self.walk(what, |item| {
            let is_in_use = match item {
                Item::Content(content) => self.is_content_in_use(content.sha256)?.unwrap_or(false),
                Item::Partial(partial) => self.is_partial_in_use(partial)?.unwrap_or(true),
            };
            Ok(if is_in_use { Removal::Stays } else { Removal::Done })
        })
        .map_err(|problem| CacheError::new(self.root(), problem))
    }

    /// Removes the least recently used contents and partial files until the rest fits the limit.
    pub(super) fn keep_limit(&self) -> Result<(), CacheProblem> {
        if let Some(limit) = self.limit
            && self.bytes()? > limit.0
        {
            self.walk(Prune::ToSize(limit), |item| self.remove(item, Who::Limit))?;
            self.sweep()?;
        }
        Ok(())
    }

    /// Acts on everything that is to go, the least recently used first.
    fn walk(
        &self,
        what: Prune,
        act: impl Fn(&Item) -> Result<Removal, CacheProblem>,
    ) -> Result<Pruned, CacheProblem> {
        let listing = self.scan()?;
        let mut left = listing.bytes();
        let contents = listing.contents.into_iter().map(Item::Content);
        let mut items: Vec<_> = contents
            .chain(listing.partials.into_iter().map(Item::Partial))
            .collect();
        items.sort_by_key(Item::used);
        let now = Timestamp::now();
        let mut pruned = Pruned::default();
        for item in items {
            if !what.wants(&item, now, left) {
                continue;
            }
            let bytes = item.bytes();
            match act(&item)? {
                Removal::Done => {
                    left -= bytes;
                    pruned.add(item);
                }
                Removal::Gone => left -= bytes,
                Removal::Stays => pruned.bytes_in_use += bytes,
            }
        }
        Ok(pruned)
    }

    fn remove(&self, item: &Item, who: Who) -> Result<Removal, CacheProblem> {
        match item {
            Item::Content(content) => self.remove_content(content, who),
            Item::Partial(partial) => self.remove_partial(partial),
        }
    }

    /// The content first: what dies after that leaves entries that point to nothing, and no bytes.
    fn remove_content(&self, content: &CachedContent, who: Who) -> Result<Removal, CacheProblem> {
        let path = self.layout.object(content.sha256);
        let _lock = match (self.locking.reserve(&path)?, who) {
            (None, _) => return Ok(Removal::Gone),
            (Some(Lock::Taken), _) | (Some(Lock::None(_)), Who::Limit) => return Ok(Removal::Stays),
            (Some(Lock::Mine(file)), _) | (Some(Lock::None(file)), Who::Person) => file,
        };
        fs::remove_file(&path)?;
        for file in &content.files {
            self.remove_entry_without(content.sha256, &file.key)?;
        }
        Ok(Removal::Done)
    }

    /// An orphan or a damaged content, on behalf of a person; whether it is gone.
    pub(super) fn remove_unless_in_use(&self, content: &CachedContent) -> Result<bool, CacheProblem> {
        Ok(self.remove_content(content, Who::Person)? != Removal::Stays)
    }

    fn remove_partial(&self, partial: &CachedPartial) -> Result<Removal, CacheProblem> {
        let lock = self.layout.lock(&partial.key);
        let _lock = match self.locking.take(&lock)? {
            Lock::Taken => return Ok(Removal::Stays),
            Lock::None(_) if !is_abandoned(partial.written) => return Ok(Removal::Stays),
            Lock::Mine(file) | Lock::None(file) => file,
        };
        let was_there = disk::remove_if_there(&self.layout.partial(&partial.key))?;
        disk::remove_if_there(&lock)?;
        Ok(if was_there { Removal::Done } else { Removal::Gone })
    }

    /// Removes what is of no use to anybody: entries without their content, pins without their files, lock files of
    /// nobody, and half-written small files.
    pub(super) fn sweep(&self) -> Result<(), CacheProblem> {
        for (key, _) in self.entry_keys()? {
            match Entry::read(&self.layout, &key)? {
                Some(entry) => self.remove_entry_without(entry.sha256, &key)?,
                None => {
                    disk::remove_if_there(&self.layout.entry(&key))?;
                }
            }
        }
        for folder in subfolders(&self.layout.pins)? {
            for (path, _) in files_in(&folder)? {
                if !Pin::read(&path)?.is_some_and(|pin| self.has_entries(&pin.needs)) {
                    disk::remove_if_there(&path)?;
                }
            }
        }
        for (path, _) in files_in(&self.layout.locks)? {
            let key = name(&path).and_then(|name| name.strip_suffix(".lock"));
            if key.is_some_and(|key| !self.layout.partial(key).exists())
                && let Lock::Mine(_lock) = self.locking.take(&path)?
            {
                disk::remove_if_there(&path)?;
            }
        }
        for (path, metadata) in files_in(&self.layout.tmp)? {
            if is_abandoned(modified(&metadata)?) {
                disk::remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// Removes an entry whose content is not there (any more).
    fn remove_entry_without(&self, sha256: Digest, key: &str) -> Result<(), CacheProblem> {
        if !self.layout.object(sha256).exists() {
            disk::remove_if_there(&self.layout.entry(key))?;
        }
        Ok(())
    }

    fn has_entries(&self, keys: &[String]) -> bool {
        keys.iter().all(|key| self.layout.entry(key).exists())
    }
}

impl Prune {
    /// Whether an item is to go while everything together is still `left` bytes large.
    fn wants(self, item: &Item, now: Timestamp, left: u64) -> bool {
        match self {
            Self::All => true,
            Self::OlderThan(age) => {
                Duration::try_from(now.duration_since(item.used())).is_ok_and(|unused| unused > age)
            }
            Self::ToSize(size) => left > size.0,
            Self::Partials => matches!(item, Item::Partial(_)),
        }
    }
}

impl Pruned {
    fn add(&mut self, item: Item) {
        self.bytes += item.bytes();
        match item {
            Item::Content(content) => self.contents.push(content),
            Item::Partial(partial) => self.partials.push(partial),
        }
    }
}

impl Item {
    fn bytes(&self) -> u64 {
        match self {
            Self::Content(content) => content.bytes,
            Self::Partial(partial) => partial.bytes,
        }
    }

    fn used(&self) -> Timestamp {
        match self {
            Self::Content(content) => content.used,
            Self::Partial(partial) => partial.written,
        }
    }
}
