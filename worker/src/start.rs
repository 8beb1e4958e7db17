//! The start of all runtimes at T0, which can be called off until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use crate::pace::Pace;

const AHEAD: u8 = 0;
const GOING: u8 = 1;
const CALLED_OFF: u8 = 2;

/// A start that all runtimes were told of.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) pace: Pace,
    pub(crate) decision: Decision,
}

/// Whether a start stands: the first runtime at T0 and whoever calls it off decide it for all. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    state: Arc<AtomicU8>,
    called_off: CancellationToken,
}

impl Decision {
    /// Goes, unless it was called off before.
    pub(crate) fn go(&self) -> bool {
        self.decide(GOING)
    }

    /// Calls it off, unless it goes already.
    pub(crate) fn call_off(&self) -> bool {
        let is_off = self.decide(CALLED_OFF);
        if is_off {
            self.called_off.cancel();
        }
        is_off
    }

    /// Ends when it is called off.
    pub(crate) async fn is_called_off(&self) {
        self.called_off.cancelled().await;
    }

    fn decide(&self, wanted: u8) -> bool {
        match self
            .state
            .compare_exchange(AHEAD, wanted, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => true,
            Err(decided) => decided == wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_is_decided_first_stands() {
        let going = Decision::default();
        assert!(going.go() && !going.call_off() && going.go());
        let off = Decision::default();
        assert!(off.call_off() && !off.go() && off.call_off());
    }

    /// Whatever the interleaving: either it was called off and nobody goes, or all go.
    #[test]
    fn all_runtimes_see_the_same_decision() {
        for _ in 0..200 {
            let decision = Decision::default();
            let going: Vec<_> = (0..3)
                .map(|_| decision.clone())
                .map(|decision| thread::spawn(move || decision.go()))
                .collect();
            let is_off = decision.call_off();
            for runtime in going {
                assert_eq!(runtime.join().unwrap(), !is_off);
            }
        }
    }
}
