//! The time that a run may take.

use std::num::NonZeroU32;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use reprise_worker::StopCause;
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Counts the time that a run may take, and ends what is going on when it is over; an interrupt ends it, too.
pub(super) struct Deadline {
    end: CancellationToken,
    passed: Arc<OnceLock<()>>,
    /// The watcher ends with this.
    _running: Sender<()>,
}

impl Deadline {
    /// Begins to count `timeout_s` seconds; without them there is no limit.
    pub(super) fn start(timeout_s: Option<NonZeroU32>, interrupt: &Interrupt) -> Self {
        let (running, over) = channel();
        let (end, passed) = (interrupt.cancel().child_token(), Arc::new(OnceLock::new()));
        if let Some(seconds) = timeout_s {
            let limit = Duration::from_secs(seconds.get().into());
            let (end, passed, control) = (end.clone(), passed.clone(), interrupt.control().clone());
            thread::spawn(move || {
                if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    passed.get_or_init(|| ());
                    end.cancel();
                    control.stop(StopCause::DeadlinePassed);
                }
            });
        }
        Self {
            end,
            passed,
            _running: running,
        }
    }

    /// Is cancelled when the time is over, and by an interrupt.
    pub(super) fn end(&self) -> &CancellationToken {
        &self.end
    }

    /// Whether the time is over.
    pub(super) fn has_passed(&self) -> bool {
        self.passed.get().is_some()
    }

    /// The failure, with the deadline as its cause if it was.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Cancelled if self.has_passed() => Failure::Run(anyhow::anyhow!(
                "The run's deadline passed before it started: nothing was sent. Raise timeoutSeconds."
            )),
            failure => failure,
        }
    }
}
