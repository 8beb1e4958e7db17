//! What is in the cache.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reprise_contract::Digest;
use serde::Serialize;

use super::claim::Note;
use super::entry::Entry;
use super::lock::Lock;
use super::problem::{CacheError, CacheProblem};
use super::{Cache, disk};

/// A partial file that nobody has written to for so long is taken for abandoned where locks cannot tell.
pub(super) const ABANDONED: Duration = Duration::from_hours(24);

/// Everything in the cache, the least recently used first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// Whole files.
    pub contents: Vec<CachedContent>,
    /// What interrupted downloads left, and what comes in right now.
    pub partials: Vec<CachedPartial>,
}

/// A content, and the files that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedContent {
    /// As it was when it was written.
    pub sha256: Digest,
    /// On the disk.
    pub bytes: u64,
    /// When it was fetched or read last.
    #[serde(with = "super::text")]
    pub used: Timestamp,
    /// Whether a process reads it right now; `None` where this cannot be told.
    pub is_in_use: Option<bool>,
    /// Empty when a process died before it could say what it fetched.
    pub files: Vec<CachedFile>,
}

/// A file in one of its versions. Texts are redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedFile {
    /// The place that it was fetched from.
    pub place: String,
    /// Its name there: its path below a prefix, or the name of a manifest.
    pub name: String,
    /// The version of the place that it was fetched for; `None` when the place tells none, and the file is fetched again by
    /// every run.
    pub version: Option<String>,
    /// When it was fetched.
    #[serde(with = "super::text")]
    pub fetched: Timestamp,
    /// The name of its entry.
    #[serde(skip)]
    pub(super) key: String,
}

/// A part of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedPartial {
    /// The place that it comes from, redacted; `None` when a process died before it could say so.
    pub place: Option<String>,
    /// The file's name there, redacted.
    pub name: Option<String>,
    /// How much of it there is.
    pub bytes: u64,
    /// When it grew last.
    #[serde(with = "super::text")]
    pub written: Timestamp,
    /// Whether a process writes it right now; `None` where this cannot be told.
    pub is_in_use: Option<bool>,
    /// The name of its file.
    #[serde(skip)]
    pub(super) key: String,
}

impl Listing {
    /// How many bytes it is on the disk, without entries and the like.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let contents = self.contents.iter().map(|content| content.bytes);
        contents
            .chain(self.partials.iter().map(|partial| partial.bytes))
            .sum()
    }
}

impl Cache {
    /// Everything in the cache.
    ///
    /// # Errors
    ///
    /// When its folders cannot be read.
    pub fn list(&self) -> Result<Listing, CacheError> {
        let list = || {
            let mut listing = self.scan()?;
            for content in &mut listing.contents {
                content.is_in_use = self.is_content_in_use(content.sha256)?;
            }
            for partial in &mut listing.partials {
                partial.is_in_use = self.is_partial_in_use(partial)?;
            }
            Ok(listing)
        };
        list().map_err(|problem| CacheError::new(self.root(), problem))
    }

    /// Everything in the cache, without a look at who uses it.
    pub(super) fn scan(&self) -> Result<Listing, CacheProblem> {
        let mut files: HashMap<Digest, Vec<(CachedFile, Timestamp)>> = HashMap::new();
        for (key, metadata) in self.entry_keys()? {
            if let Some(entry) = Entry::read(&self.layout, &key)? {
                let used = modified(&metadata)?;
                files
                    .entry(entry.sha256)
                    .or_default()
                    .push((CachedFile::new(key, entry), used));
            }
        }
        let mut listing = Listing::default();
        for (sha256, metadata) in self.objects()? {
            let known = files.remove(&sha256).unwrap_or_default();
            let (mut files, times): (Vec<_>, Vec<_>) = known.into_iter().unzip();
            files.sort_by(|a, b| (&a.place, &a.name, a.fetched).cmp(&(&b.place, &b.name, b.fetched)));
            let used = times.into_iter().max();
            listing.contents.push(CachedContent {
                sha256,
                bytes: metadata.len(),
                used: used.map_or_else(|| modified(&metadata), Ok)?,
                is_in_use: None,
                files,
            });
        }
        for (path, metadata) in files_in(&self.layout.partial)? {
            let Some(key) = name(&path) else { continue };
            let note = Note::read(&self.layout, key)?.map(|note| (note.place, note.name));
            let (place, name) = note.unzip();
            listing.partials.push(CachedPartial {
                place,
                name,
                bytes: metadata.len(),
                written: modified(&metadata)?,
                is_in_use: None,
                key: key.to_owned(),
            });
        }
        listing
            .contents
            .sort_by_key(|content| (content.used, *content.sha256.as_bytes()));
        listing.partials.sort_by_key(|partial| partial.written);
        Ok(listing)
    }

    /// How large the contents and partial files are together.
    pub(super) fn bytes(&self) -> Result<u64, CacheProblem> {
        let objects = self.objects()?.into_iter().map(|(_, metadata)| metadata);
        let partials = files_in(&self.layout.partial)?
            .into_iter()
            .map(|(_, metadata)| metadata);
        Ok(objects.chain(partials).map(|metadata| metadata.len()).sum())
    }

    /// All entries, those included that make no sense.
    pub(super) fn entry_keys(&self) -> Result<Vec<(String, Metadata)>, CacheProblem> {
        let entries = files_in(&self.layout.entries)?.into_iter();
        let key = |path: &Path| Some(name(path)?.strip_suffix(".json")?.to_owned());
        Ok(entries
            .filter_map(|(path, metadata)| Some((key(&path)?, metadata)))
            .collect())
    }

    fn objects(&self) -> Result<Vec<(Digest, Metadata)>, CacheProblem> {
        let mut objects = Vec::new();
        for folder in subfolders(&self.layout.objects)? {
            for (path, metadata) in files_in(&folder)? {
                // What is not called by a digest is none of ours.
                let sha256 = name(&path).and_then(|name| name.parse().ok());
                objects.extend(sha256.map(|sha256| (sha256, metadata)));
            }
        }
        Ok(objects)
    }

    pub(super) fn is_content_in_use(&self, sha256: Digest) -> Result<Option<bool>, CacheProblem> {
        self.is_locked(&self.layout.object(sha256))
    }

    pub(super) fn is_partial_in_use(&self, partial: &CachedPartial) -> Result<Option<bool>, CacheProblem> {
        let is_locked = self.is_locked(&self.layout.lock(&partial.key))?;
        Ok(is_locked.or(is_abandoned(partial.written).then_some(false)))
    }

    /// Whether somebody has a lock on a file; `None` where locks cannot tell.
    fn is_locked(&self, path: &Path) -> Result<Option<bool>, CacheProblem> {
        Ok(match self.locking.reserve(path)? {
            None => Some(false),
            Some(Lock::Mine(file)) => {
                file.unlock()?;
                Some(false)
            }
            Some(Lock::Taken) => Some(true),
            Some(Lock::None(_)) => None,
        })
    }
}

impl CachedFile {
    fn new(key: String, entry: Entry) -> Self {
        let Entry {
            place,
            name,
            version,
            fetched,
            tag: _,
            bytes: _,
            sha256: _,
        } = entry;
        Self {
            place,
            name,
            version,
            fetched,
            key,
        }
    }
}

/// Whether something that should take seconds was begun so long ago that nobody can be at it any more.
pub(super) fn is_abandoned(written: Timestamp) -> bool {
    let age = Timestamp::now().duration_since(written);
    Duration::try_from(age).is_ok_and(|age| age > ABANDONED)
}

pub(super) fn modified(metadata: &Metadata) -> io::Result<Timestamp> {
    let modified: SystemTime = metadata.modified()?;
    Timestamp::try_from(modified).map_err(io::Error::other)
}

pub(super) fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The files in a folder that are still there when they are looked at.
pub(super) fn files_in(folder: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut files = Vec::new();
    for file in disk::if_there(fs::read_dir(folder))?.into_iter().flatten() {
        let file = file?;
        if let Some(metadata) = disk::if_there(file.metadata())?
            && metadata.is_file()
        {
            files.push((file.path(), metadata));
        }
    }
    Ok(files)
}

pub(super) fn subfolders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for file in disk::if_there(fs::read_dir(folder))?.into_iter().flatten() {
        let file = file?;
        if file.file_type()?.is_dir() {
            folders.push(file.path());
        }
    }
    Ok(folders)
}
