//! Decides whether a request that is due goes.

use std::sync::OnceLock;
use std::time::Duration;

use reprise_contract::plan::LatePolicy;
use reprise_contract::{Ending, NotSentReason};

use crate::clock::nanos;
use crate::control::{Control, StopCause};
use crate::plan::Plan;

/// Decides whether a request that is due goes: not after the duration is over, and by the policy on late ones. When something is
/// due counts in run time, so that the same requests are cut off whatever a worker's clock does; how late it is, in the
/// worker's own.
pub(crate) struct Gate {
    late_policy: LatePolicy,
    threshold_ns: i64,
    duration_ns: Option<i64>,
    /// When the first measured request was due, in run time.
    measured_from: OnceLock<i64>,
    control: Control,
}

/// A request whose time has come.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) is_warmup: bool,
    /// Since when it could go, in run time.
    pub(crate) due_ns: i64,
    /// How late it is, in nanoseconds on this worker's clock.
    pub(crate) lag_ns: i64,
}

impl Gate {
    pub(crate) fn new(plan: &Plan, control: Control) -> Self {
        Self {
            late_policy: plan.late_policy,
            threshold_ns: nanos(plan.late_threshold),
            duration_ns: plan.duration.map(nanos),
            measured_from: plan.measured_from_ns.map(OnceLock::from).unwrap_or_default(),
            control,
        }
    }

    /// `Err` with how the request ended without going.
    pub(crate) fn admit(&self, request: Candidate) -> Result<(), Ending> {
        if let Some(cause) = self.control.cause() {
            return Err(Ending::NotSent(not_sent_reason(cause)));
        }
        if !request.is_warmup && self.is_over(request.due_ns) {
            return Err(Ending::NotSent(NotSentReason::DurationOver));
        }
        let lag_ns = request.lag_ns;
        if lag_ns <= self.threshold_ns {
            return Ok(());
        }
        match self.late_policy {
            LatePolicy::CatchUp => Ok(()),
            LatePolicy::Drop => Err(Ending::Dropped),
            LatePolicy::Abort => {
                self.control
                    .stop(StopCause::Aborted(abort_message(lag_ns, self.threshold_ns)));
                Err(Ending::NotSent(NotSentReason::RunAborted))
            }
        }
    }

    /// Whether it is already certain that a request that is due at `due_ns` will not go, as the duration is over by then.
    pub(crate) fn is_over_by(&self, is_warmup: bool, due_ns: i64) -> bool {
        let from = self.measured_from.get().filter(|_| !is_warmup);
        from.is_some_and(|from| self.ends_before(*from, due_ns))
    }

    /// Whether the duration was over at `due_ns`. In a closed loop the first measured request starts the duration.
    fn is_over(&self, due_ns: i64) -> bool {
        let from = *self.measured_from.get_or_init(|| due_ns);
        self.ends_before(from, due_ns)
    }

    fn ends_before(&self, from_ns: i64, due_ns: i64) -> bool {
        self.duration_ns
            .is_some_and(|duration| due_ns.saturating_sub(from_ns) > duration)
    }
}

/// Why a request was not sent in a run that was stopped.
pub(crate) fn not_sent_reason(cause: &StopCause) -> NotSentReason {
    match cause {
        StopCause::Cancelled => NotSentReason::RunCancelled,
        StopCause::DeadlinePassed => NotSentReason::DeadlinePassed,
        StopCause::Leaving => NotSentReason::WorkerLost,
        StopCause::Aborted(_) => NotSentReason::RunAborted,
    }
}

fn abort_message(lag_ns: i64, threshold_ns: i64) -> String {
    let duration = |ns: i64| Duration::from_nanos(ns.unsigned_abs());
    format!(
        "a request was {:?} late, more than replay.lateThreshold ({:?}), and replay.latePolicy is Abort",
        duration(lag_ns),
        duration(threshold_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn gate(late_policy: LatePolicy, duration_ns: Option<i64>, measured_from: Option<i64>) -> Gate {
        Gate {
            late_policy,
            threshold_ns: 50 * MS,
            duration_ns,
            measured_from: measured_from.map(OnceLock::from).unwrap_or_default(),
            control: Control::default(),
        }
    }

    fn due(due_ns: i64, lag_ns: i64) -> Candidate {
        Candidate {
            is_warmup: false,
            due_ns,
            lag_ns,
        }
    }

    #[test]
    fn a_late_request_is_sent_dropped_or_ends_the_run_as_the_policy_says() {
        let late = due(0, 51 * MS);
        assert_eq!(gate(LatePolicy::CatchUp, None, None).admit(late), Ok(()));
        assert_eq!(
            gate(LatePolicy::Drop, None, None).admit(late),
            Err(Ending::Dropped)
        );
        let abort = gate(LatePolicy::Abort, None, None);
        assert_eq!(
            abort.admit(due(0, 50 * MS)),
            Ok(()),
            "as late as the threshold is not late"
        );
        assert_eq!(abort.admit(late), Err(Ending::NotSent(NotSentReason::RunAborted)));
        assert_eq!(
            abort.admit(due(0, 0)),
            Err(Ending::NotSent(NotSentReason::RunAborted)),
            "nothing goes after it"
        );
        assert!(
            matches!(abort.control.cause(), Some(StopCause::Aborted(message)) if message.contains("51ms"))
        );
    }

    /// A leading idle gap takes nothing from the duration.
    #[test]
    fn the_duration_counts_from_the_first_measured_arrival() {
        let gate = gate(LatePolicy::CatchUp, Some(1_000 * MS), Some(3_000 * MS));
        assert_eq!(gate.admit(due(3_000 * MS, 0)), Ok(()));
        assert_eq!(gate.admit(due(4_000 * MS, 0)), Ok(()));
        assert_eq!(
            gate.admit(due(4_000 * MS + 1, 0)),
            Err(Ending::NotSent(NotSentReason::DurationOver))
        );
    }

    /// Asking beforehand must not start the duration: another request may be due earlier.
    #[test]
    fn what_the_duration_leaves_out_is_known_beforehand() {
        let known = gate(LatePolicy::CatchUp, Some(1_000 * MS), Some(0));
        assert!(known.is_over_by(false, 1_001 * MS));
        assert!(!known.is_over_by(false, 1_000 * MS));
        assert!(!known.is_over_by(true, 1_001 * MS), "warm-up always goes");
        let open = gate(LatePolicy::CatchUp, Some(1_000 * MS), None);
        assert!(!open.is_over_by(false, 5_000 * MS));
        assert_eq!(open.admit(due(2_000 * MS, 0)), Ok(()));
        assert!(open.is_over_by(false, 5_000 * MS));
    }

    #[test]
    fn warm_up_takes_nothing_from_the_duration() {
        let gate = gate(LatePolicy::CatchUp, Some(10 * MS), None);
        assert_eq!(
            gate.admit(Candidate {
                is_warmup: true,
                ..due(0, 0)
            }),
            Ok(())
        );
        assert_eq!(
            gate.admit(due(500 * MS, 0)),
            Ok(()),
            "the first measured one starts it"
        );
        assert_eq!(
            gate.admit(due(511 * MS, 0)),
            Err(Ending::NotSent(NotSentReason::DurationOver))
        );
    }

    #[test]
    fn nothing_goes_after_a_stop_whose_first_cause_stands() {
        let cancelled = gate(LatePolicy::CatchUp, None, None);
        cancelled.control.cancel();
        cancelled.control.stop(StopCause::DeadlinePassed);
        assert_eq!(
            cancelled.admit(due(0, 0)),
            Err(Ending::NotSent(NotSentReason::RunCancelled))
        );
        let over = gate(LatePolicy::CatchUp, None, None);
        over.control.stop(StopCause::DeadlinePassed);
        assert_eq!(
            over.admit(due(0, 0)),
            Err(Ending::NotSent(NotSentReason::DeadlinePassed))
        );
    }
}
