//! How far storing has come.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Is told how many bytes of how many are stored.
pub type StoreProgress<'a> = dyn Fn(u64, u64) + Send + Sync + 'a;

/// Counts bytes as they are stored.
pub(super) struct Meter<'a> {
    done: AtomicU64,
    total: u64,
    progress: &'a StoreProgress<'a>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(total: u64, progress: &'a StoreProgress<'a>) -> Self {
        Self {
            done: AtomicU64::new(0),
            total,
            progress,
        }
    }

    pub(super) fn add(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        // What is stored a second time, after the store lost it, is not more than there is.
        (self.progress)(before.saturating_add(bytes).min(self.total), self.total);
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("done", &self.done)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}
