//! How many requests were sent so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many requests a replay has sent so far, those in flight included. Clones look at the same replay.
#[derive(Clone, Debug)]
pub struct SentCount {
    runtimes: Arc<[OwnCount]>,
}

/// What one runtime has sent: written by it alone, so on a cache line (or two that are fetched together) of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// The count of one runtime.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnCount(Arc<Padded>);

impl SentCount {
    pub(crate) fn of(runtimes: impl IntoIterator<Item = OwnCount>) -> Self {
        Self {
            runtimes: runtimes.into_iter().collect(),
        }
    }

    /// The count, of all runtimes together.
    #[must_use]
    pub fn get(&self) -> u64 {
        let counts = self.runtimes.iter();
        counts.map(|own| own.0.0.load(Ordering::Relaxed)).sum()
    }
}

impl OwnCount {
    pub(crate) fn add_one(&self) {
        // The only writer needs no locked addition.
        let count = self.0.0.load(Ordering::Relaxed);
        self.0.0.store(count + 1, Ordering::Relaxed);
    }
}
