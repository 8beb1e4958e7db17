//! Collects the outcomes of one runtime.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;

use reprise_contract::{Ending, Histogram, Outcome, Phase};

/// Outcomes that are handed on together, at most.
const BATCH: usize = 512;

/// Collects the outcomes of one runtime and hands them on in batches. Clones share it.
#[derive(Clone)]
pub(crate) struct Recorder {
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    batch: Vec<Outcome>,
    gaps: Histogram,
    batches: SyncSender<Vec<Outcome>>,
}

impl Recorder {
    pub(crate) fn new(batches: SyncSender<Vec<Outcome>>) -> Self {
        let inner = Inner {
            batch: Vec::new(),
            gaps: Histogram::default(),
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
                inner.gaps.record(*gap_ns);
            }
        }
        inner.batch.push(outcome);
        if inner.batch.len() >= BATCH {
            inner.flush();
        }
    }

    /// Hands on what there is.
    pub(crate) fn flush(&self) {
        self.inner.borrow_mut().flush();
    }

    /// Hands on what there is, and takes the gaps out.
    pub(crate) fn finish(&self) -> Histogram {
        let mut inner = self.inner.borrow_mut();
        inner.flush();
        std::mem::take(&mut inner.gaps)
    }
}

impl Inner {
    fn flush(&mut self) {
        if !self.batch.is_empty() {
            // Whoever does not listen any more wants no outcomes; the replay ends by its control.
            let _ = self.batches.send(std::mem::take(&mut self.batch));
        }
    }
}
