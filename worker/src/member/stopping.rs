//! Why the replay stops before its end, and who said so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reprise_contract::protocol::Stop;

use crate::{Control, StopCause};

/// Stops the replay, and knows whether the manager did. Clones stop the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopping {
    pub(super) control: Control,
    by_others: Arc<AtomicBool>,
}

impl Stopping {
    /// Stops sending, as this worker itself cannot go on: the manager has to hear of it.
    pub(super) fn stop(&self, stop: &Stop) {
        self.control.stop(cause(stop));
    }

    /// Stops sending, as somebody wants it who needs no telling.
    pub(super) fn told_to_stop(&self, cause: StopCause) {
        self.by_others.store(true, Ordering::Relaxed);
        self.control.stop(cause);
    }

    /// Why this worker stopped by itself, if it did: `latePolicy: Abort`, or [`Self::stop`].
    pub(super) fn by_itself(&self) -> Option<Stop> {
        let cause = self.control.cause()?;
        if self.by_others.load(Ordering::Relaxed) {
            return None;
        }
        told(cause)
    }

    /// Whether this worker leaves while the run goes on.
    pub(super) fn is_leaving(&self) -> bool {
        self.control.cause() == Some(&StopCause::Leaving)
    }
}

/// What the replay is to be told.
pub(super) fn cause(stop: &Stop) -> StopCause {
    match stop {
        Stop::Cancelled => StopCause::Cancelled,
        Stop::DeadlinePassed => StopCause::DeadlinePassed,
        Stop::Aborted { message } => StopCause::Aborted(message.clone()),
    }
}

/// What the manager is to be told about the whole run.
fn told(cause: &StopCause) -> Option<Stop> {
    match cause {
        StopCause::Cancelled => Some(Stop::Cancelled),
        StopCause::DeadlinePassed => Some(Stop::DeadlinePassed),
        StopCause::Leaving => None,
        StopCause::Aborted(message) => Some(Stop::Aborted {
            message: message.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_worker_decided_is_told() {
        let aborted = Stop::Aborted {
            message: "late".to_owned(),
        };
        let own = Stopping::default();
        assert_eq!(own.by_itself(), None);
        own.stop(&aborted);
        own.told_to_stop(StopCause::Cancelled);
        assert_eq!(
            own.control.cause(),
            Some(&StopCause::Aborted("late".to_owned())),
            "the first cause stays"
        );

        let told = Stopping::default();
        told.told_to_stop(cause(&Stop::DeadlinePassed));
        assert_eq!(told.by_itself(), None);
        assert_eq!(told.control.cause(), Some(&StopCause::DeadlinePassed));
    }
}
