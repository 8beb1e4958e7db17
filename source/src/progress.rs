//! How far a trace is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a trace is read. Clones show the same trace, so one can be watched from another thread.
#[derive(Clone, Debug)]
pub struct Progress {
    bytes: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self {
            bytes: Arc::new(AtomicU64::new(0)),
            total,
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes read so far, as they are stored at the source. Steps are at most 1 MiB.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes stored at the source, where it says so: pipes and chunked answers do not.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }
}
