//! Collects the outcomes of one runtime.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;

use reprise_contract::{Ending, Histogram, Outcome, Phase};

/// Outcomes that are handed on together, at most.
const BATCH: usize = 512;

/// Outcomes that are handed on together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The outcomes, in the order in which they were known.
    pub outcomes: Vec<Outcome>,
    /// The gaps between chunks of those of them that are measured and completed.
    pub gaps: Histogram,
}

/// Collects the outcomes of one runtime and hands them on in batches. Clones share it.
#[derive(Clone)]
pub(crate) struct Recorder {
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    batch: Batch,
    batches: SyncSender<Batch>,
}

impl Recorder {
    pub(crate) fn new(batches: SyncSender<Batch>) -> Self {
        let inner = Inner {
            batch: Batch::default(),
            batches,
        };
        Self {
            inner: Rc::new(RefCell::new(inner)),
        }
    }

    /// Keeps an outcome. Its gaps count when it is measured and complete.
    pub(crate) fn record(&self, outcome: Outcome, gaps_ns: &[u64]) {
        let mut inner = self.inner.borrow_mut();
        if outcome.phase == Phase::Measured && outcome.ending == Ending::Completed {
            for gap_ns in gaps_ns {
                inner.batch.gaps.record(*gap_ns);
            }
        }
        inner.batch.outcomes.push(outcome);
        if inner.batch.outcomes.len() >= BATCH {
            inner.flush();
        }
    }

    /// Hands on what there is.
    pub(crate) fn flush(&self) {
        self.inner.borrow_mut().flush();
    }
}

impl Inner {
    fn flush(&mut self) {
        if !self.batch.outcomes.is_empty() {
            // Whoever does not listen any more wants no outcomes; the replay ends by its control.
            let _ = self.batches.send(std::mem::take(&mut self.batch));
        }
    }
}
