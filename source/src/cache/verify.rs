//! Checking that contents are still what they were.

use std::fs::File;
use std::io::Read;

use reprise_contract::Digest;
use serde::Serialize;

use super::entry::Entry;
use super::listing::CachedContent;
use super::problem::{CacheError, CacheProblem};
use super::{Cache, disk};
use crate::digest::Hasher;
use crate::progress::Progress;

/// How much is read at a time.
const BUFFER: usize = 1024 * 1024;

/// What a check of the cache found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// How many contents were read.
    pub contents: u64,
    /// How large they are together.
    pub bytes: u64,
    /// Contents that are not what they were when they were written.
    pub damaged: Vec<Faulty>,
    /// Contents that no file is known to have: a process died before it could say what it fetched, or a place without
    /// versions holds something else by now.
    pub orphans: Vec<Faulty>,
    /// Files whose content is not there.
    pub missing: u64,
}

/// A content with which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Faulty {
    /// The content.
    #[serde(flatten)]
    pub content: CachedContent,
    /// Whether it was removed. It stays while a process uses it, and when nothing is to be changed.
    pub is_removed: bool,
}

impl Verified {
    /// Whether every file is there and as it was.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.missing == 0
    }
}

impl Cache {
    /// Reads all contents, and removes those that are damaged, those that belong to no file, and the entries of files
    /// without a content. `show` may show how far it is; what it returns is dropped at the end.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read or written.
    pub fn verify<G>(&self, show: impl FnOnce(Progress) -> G) -> Result<Verified, CacheError> {
        let verify = || {
            let mut verified = self.read_all(show)?;
            for faulty in verified.damaged.iter_mut().chain(&mut verified.orphans) {
                faulty.is_removed = self.remove_unless_in_use(&faulty.content)?;
            }
            self.sweep()?;
            Ok(verified)
        };
        verify().map_err(|problem| CacheError::new(self.root(), problem))
    }

    /// Reads all contents like [`Cache::verify`], and changes nothing.
    ///
    /// # Errors
    ///
    /// When the cache cannot be read.
    pub fn check<G>(&self, show: impl FnOnce(Progress) -> G) -> Result<Verified, CacheError> {
        self.read_all(show)
            .map_err(|problem| CacheError::new(self.root(), problem))
    }

    fn read_all<G>(&self, show: impl FnOnce(Progress) -> G) -> Result<Verified, CacheProblem> {
        let contents = self.scan()?.contents;
        let bytes = contents.iter().map(|content| content.bytes).sum();
        let progress = Progress::new(Some(bytes));
        let _shown = show(progress.clone());
        let mut verified = Verified::default();
        let faulty = |content: &CachedContent| {
            Ok::<_, CacheProblem>(Faulty {
                content: CachedContent {
                    is_in_use: self.is_content_in_use(content.sha256)?,
                    ..content.clone()
                },
                is_removed: false,
            })
        };
        for content in &contents {
            // It may have been removed since it was listed.
            let Some(sha256) = self.digest(content.sha256, &progress)? else {
                continue;
            };
            verified.contents += 1;
            verified.bytes += content.bytes;
            if sha256 != content.sha256 {
                verified.damaged.push(faulty(content)?);
            } else if content.files.is_empty() {
                verified.orphans.push(faulty(content)?);
            }
        }
        for (key, _) in self.entry_keys()? {
            let entry = Entry::read(&self.layout, &key)?;
            let is_there = entry.is_some_and(|entry| self.layout.object(entry.sha256).exists());
            verified.missing += u64::from(!is_there);
        }
        Ok(verified)
    }

    /// The digest of a content as it is now; `None` when it is not there.
    fn digest(&self, sha256: Digest, progress: &Progress) -> Result<Option<Digest>, CacheProblem> {
        let Some(mut file) = disk::if_there(File::open(self.layout.object(sha256)))? else {
            return Ok(None);
        };
        let mut hasher = Hasher::default();
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = file.read(&mut buffer)?;
            if length == 0 {
                return Ok(Some(hasher.digest()));
            }
            hasher.update(&buffer[..length]);
            progress.add(length);
        }
    }
}
