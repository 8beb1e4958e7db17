//! Reprise's own cache of files fetched from S3 and over HTTP.
//!
//! ```text
//! <root>/CACHEDIR.TAG                   backup programs leave the folder out
//! <root>/v1/objects/<2 digits>/<sha256> contents, whole and read-only; who reads one holds a shared lock on it
//! <root>/v1/entries/<key>.json          which content a version of a file at a place has; modified = used last
//! <root>/v1/pins/<place>/<version>.json what a place was found to hold, for conditional requests and offline runs
//! <root>/v1/partial/<key>               what has come of a content so far; the key stands for the version too
//! <root>/v1/locks/<key>.lock            locked by who writes the partial file of that key
//! <root>/v1/tmp/                        entries and pins on their way
//! ```
//!
//! Everything becomes visible by an atomic rename, contents before what points to them, both synced. So a process may
//! die between any two steps and leaves a cache that works; `verify` and `prune` clear away what it left behind.

mod byte_size;
mod claim;
mod disk;
mod entry;
mod layout;
mod listing;
mod lock;
mod object;
mod pin;
mod place;
mod problem;
mod prune;
mod settings;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod verify;

use std::sync::Arc;

pub use byte_size::{ByteSize, ByteSizeError};
use layout::Layout;
pub use listing::{CachedContent, CachedFile, CachedPartial, Listing};
use lock::Locking;
pub(crate) use place::PlaceKey;
pub use problem::{CacheError, CacheProblem};
pub use prune::{Prune, Pruned};
pub use settings::CacheSettings;
pub(crate) use store::CachedPlace;
pub use verify::{Faulty, Verified};

/// The cache, open. Clones are the same cache.
#[derive(Clone, Debug)]
pub struct Cache {
    layout: Arc<Layout>,
    limit: Option<ByteSize>,
    locking: Locking,
    /// What tells this machine from others, where there is such a thing.
    machine: Option<String>,
}

impl Cache {
    /// Opens the cache, and makes its folders where they are missing. A cache that is there and read-only opens too.
    ///
    /// # Errors
    ///
    /// When the folders cannot be made, or the root is a folder with something else in it.
    pub fn open(settings: CacheSettings) -> Result<Self, CacheError> {
        let CacheSettings { root, limit } = settings;
        Ok(Self {
            layout: Arc::new(Layout::make(&root)?),
            limit,
            locking: Locking::KERNEL,
            machine: claim::machine(),
        })
    }

    /// The folder that the cache is in, absolute.
    #[must_use]
    pub fn root(&self) -> &std::path::Path {
        self.layout.root()
    }

    /// How large it may get before something goes by itself.
    #[must_use]
    pub fn limit(&self) -> Option<ByteSize> {
        self.limit
    }

    /// The part of the cache that holds what was fetched from one place.
    pub(crate) fn at(&self, place: PlaceKey) -> CachedPlace {
        CachedPlace::new(self.clone(), place)
    }
}
