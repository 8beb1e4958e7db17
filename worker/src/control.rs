//! Stops a run from outside, or from within.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Why a run was stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Somebody cancelled it.
    Cancelled,
    /// Its deadline has passed.
    DeadlinePassed,
    /// This worker leaves the run, which goes on without it.
    Leaving,
    /// It must not go on, for this reason: `latePolicy: Abort` or a fault.
    Aborted(String),
}

/// A handle to stop a run. Clones control the same run; the first cause stands.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stopped: CancellationToken,
    cause: Arc<OnceLock<StopCause>>,
}

impl Control {
    /// Stops sending at once; what is in flight ends as cancelled.
    pub fn cancel(&self) {
        self.stop(StopCause::Cancelled);
    }

    /// Stops sending at once, for this cause unless there was one before; what is in flight ends as cancelled.
    pub fn stop(&self, cause: StopCause) {
        self.cause.get_or_init(|| cause);
        self.stopped.cancel();
    }

    /// The reason why the run was stopped, if it was.
    #[must_use]
    pub fn cause(&self) -> Option<&StopCause> {
        self.cause.get()
    }

    /// The same control, for one runtime: to wait for its end takes no lock that other runtimes share.
    pub(crate) fn for_runtime(&self) -> Self {
        Self {
            stopped: self.stopped.child_token(),
            cause: self.cause.clone(),
        }
    }

    /// Ends when the run is stopped.
    pub(crate) async fn stopped(&self) {
        self.stopped.cancelled().await;
    }
}
