//! Where everything is in the cache.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use reprise_contract::Digest;

use super::disk;
use super::problem::{CacheError, CacheProblem};

/// The version of this layout. A later one gets another folder beside it.
const VERSION: &str = "v1";

/// Tells backup programs to leave the folder out, and us that the folder is ours. <https://bford.info/cachedir/>
const TAG: &str = "CACHEDIR.TAG";
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # Fetched traces, created by Reprise. See them with `reprise cache ls`, remove them with `reprise cache prune`.\n";
const OUR_MARK: &str = "created by Reprise";

/// What may be in a folder that nobody has used yet: what makes it a file system.
const FRESH: [&str; 1] = ["lost+found"];

/// The folders of the cache, which are all there.
#[derive(Debug)]
pub(super) struct Layout {
    root: PathBuf,
    pub(super) objects: PathBuf,
    pub(super) entries: PathBuf,
    pub(super) pins: PathBuf,
    pub(super) partial: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) tmp: PathBuf,
}

impl Layout {
    /// Makes what is missing of it.
    pub(super) fn make(root: &Path) -> Result<Self, CacheError> {
        let root = std::path::absolute(root).map_err(|error| CacheError::new(root, error.into()))?;
        let layout = Self {
            objects: root.join(VERSION).join("objects"),
            entries: root.join(VERSION).join("entries"),
            pins: root.join(VERSION).join("pins"),
            partial: root.join(VERSION).join("partial"),
            locks: root.join(VERSION).join("locks"),
            tmp: root.join(VERSION).join("tmp"),
            root,
        };
        layout
            .make_folders()
            .map_err(|problem| CacheError::new(&layout.root, problem))?;
        Ok(layout)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn object(&self, sha256: Digest) -> PathBuf {
        let name = sha256.to_string();
        self.objects.join(&name[..2]).join(&name)
    }

    pub(super) fn entry(&self, key: &str) -> PathBuf {
        self.entries.join(key).with_added_extension("json")
    }

    pub(super) fn partial(&self, key: &str) -> PathBuf {
        self.partial.join(key)
    }

    pub(super) fn lock(&self, key: &str) -> PathBuf {
        self.locks.join(key).with_added_extension("lock")
    }

    /// The folder of all pins of a place.
    pub(super) fn pins_of(&self, place: Digest) -> PathBuf {
        self.pins.join(place.to_string())
    }

    fn make_folders(&self) -> Result<(), CacheProblem> {
        make_folder(&self.root)?;
        if !self.is_tagged()? {
            if !self.is_fresh()? {
                return Err(CacheProblem::NotOurs);
            }
            // The first thing in the folder, and there as a whole or not at all.
            disk::write(&self.root, &self.root.join(TAG), TAG_TEXT.as_bytes())?;
        }
        for folder in [
            &self.objects,
            &self.entries,
            &self.pins,
            &self.partial,
            &self.locks,
            &self.tmp,
        ] {
            make_folder(folder)?;
        }
        Ok(())
    }

    fn is_tagged(&self) -> io::Result<bool> {
        let tag = disk::read_if_there(&self.root.join(TAG))?;
        Ok(tag.is_some_and(|tag| String::from_utf8_lossy(&tag).contains(OUR_MARK)))
    }

    /// Whether there is nothing in the folder but a tag that another process is about to write.
    fn is_fresh(&self) -> io::Result<bool> {
        for file in fs::read_dir(&self.root)? {
            let name = file?.file_name();
            let is_fresh = name
                .to_str()
                .is_some_and(|name| FRESH.contains(&name) || name.starts_with(disk::TEMPORARY));
            if !is_fresh && !self.is_tagged()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes a folder that only this user may enter, and the folders above it.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
