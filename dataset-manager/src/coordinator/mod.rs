//! The state of a run between its plan and its last outcome: who holds which shard, when T0 is, what workers are told.
//!
//! A pure state machine: no I/O, no clock, no threads. Every method takes `now`, nanoseconds on the manager's monotonic clock,
//! and first does what time alone brings about ([`Coordinator::advance`]). What it guarantees, whatever comes in whatever
//! order:
//!
//! - at most one incarnation holds a shard;
//! - nobody gets `Go` for an epoch unless all have confirmed it;
//! - every batch is accepted once, and in its order;
//! - a request of the plan is delivered once, or belongs to a shard that was lost.

mod arming;
mod failure;
mod gathering;
mod joining;
mod loss;
mod orders;
mod shard;
mod slot;
mod snapshot;

use std::collections::VecDeque;
use std::time::Duration;

use reprise_contract::protocol::{Capacity, Incarnation, Stage, Stop};
use reprise_crds::LossPolicy;

pub use arming::{REVOKE_UNTIL, START_UNTIL, T0_LEAD};
pub use failure::{Failure, Refused};
pub use gathering::{Admission, BatchCounts};
pub use joining::JoinAnswer;
pub use loss::{Account, Ended, account};
pub use shard::ShardFacts;
pub use slot::{Loss, LossCause, WorkerRecord};

use slot::Slot;

/// Answers within this much longer than the longest poll show that a worker is there.
const PRESENCE: Duration = Duration::from_secs(15);

/// What a run asks of its workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a worker may be missing, counted from the moment the plan is ready or from its disappearance before T0.
    pub registration: Duration,
    /// How long a worker may be silent after the moment by which all of its answers must be in.
    pub silence: Duration,
    /// What the loss of a worker after T0 does.
    pub on_loss: OnLoss,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            registration: Duration::from_secs(30),
            silence: Duration::from_mins(1),
            on_loss: OnLoss::Stop,
        }
    }
}

/// What the loss of a worker after T0 does: `workers.lossPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// The others stop, and what was measured is reported: `Fail`.
    Stop,
    /// The others go on, and the result is marked: `Degrade`.
    GoOn,
}

impl From<LossPolicy> for OnLoss {
    fn from(policy: LossPolicy) -> Self {
        match policy {
            LossPolicy::Fail => Self::Stop,
            LossPolicy::Degrade => Self::GoOn,
        }
    }
}

/// Says whether workers with these capacities, by index, are enough for the plan; a reason for people when they are not.
pub type Enough = Box<dyn Fn(&[Capacity]) -> Result<(), String> + Send>;

/// What the coordinator has to know of a plan.
pub struct PlanFacts {
    /// The shards, by index: one for each worker.
    pub shards: Vec<ShardFacts>,
    /// The longest that a request may take.
    pub timeout: Duration,
    /// Whether the workers are enough; asked once, when all have joined.
    pub enough: Enough,
}

/// See the module.
pub struct Coordinator {
    rules: Rules,
    manager: Incarnation,
    phase: Phase,
    slots: Vec<Slot>,
    timeout: Duration,
    enough: Option<Enough>,
    /// The proposal of T0 that is up or comes next, from 1.
    epoch: u32,
    /// Of the newest directive.
    directive: u64,
    stop: Option<(Stop, i64)>,
    deadline_ns: Option<i64>,
    /// Grows with every change that somebody may be waiting for.
    news: u64,
    /// When how many requests were sent, over the last seconds.
    sent_lately: VecDeque<(i64, u64)>,
}

/// How far the run has come.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// There is no plan yet.
    Preparing,
    /// Workers join and get ready.
    Gathering,
    /// T0 is proposed. `confirmed`: by all.
    Arming { t0_ns: i64, confirmed: bool },
    /// T0 is past.
    Replaying { t0_ns: i64 },
    /// Every shard is finished or lost. `released`: workers may go home.
    Over { t0_ns: i64, released: bool },
    /// It failed: before T0, or because outcomes cannot be kept.
    Failed(Failure),
}

impl Coordinator {
    /// A run without a plan. `manager` is this process's own life.
    #[must_use]
    pub fn new(rules: Rules, manager: Incarnation) -> Self {
        Self {
            rules,
            manager,
            phase: Phase::Preparing,
            slots: Vec::new(),
            timeout: Duration::ZERO,
            enough: None,
            epoch: 1,
            directive: 1,
            stop: None,
            deadline_ns: None,
            news: 0,
            sent_lately: VecDeque::new(),
        }
    }

    /// The manager's own life.
    #[must_use]
    pub fn manager(&self) -> &Incarnation {
        &self.manager
    }

    /// Grows with every change that somebody may be waiting for.
    #[must_use]
    pub fn news(&self) -> u64 {
        self.news
    }

    /// Workers may take their shards now. Does nothing when the run has failed or has a plan.
    pub fn plan_ready(&mut self, now: i64, plan: PlanFacts) {
        self.advance(now);
        if self.phase != Phase::Preparing {
            return;
        }
        self.slots = plan
            .shards
            .into_iter()
            .map(|facts| Slot::new(facts, now))
            .collect();
        self.timeout = plan.timeout;
        self.enough = Some(plan.enough);
        self.set_phase(Phase::Gathering);
    }

    /// Does what time alone brings about: T0, deadlines, workers that are missing or silent for too long.
    pub fn advance(&mut self, now: i64) {
        self.keep_deadline(now);
        match self.phase {
            Phase::Gathering => self.look_for_missing(now),
            Phase::Arming { .. } => {
                self.keep_proposal(now);
                self.look_for_missing(now);
            }
            Phase::Replaying { t0_ns } => self.give_up_on_silent(now, t0_ns),
            Phase::Preparing | Phase::Over { .. } | Phase::Failed(_) => {}
        }
    }

    /// T0 on the manager's clock, once all have confirmed it.
    #[must_use]
    pub fn t0_ns(&self) -> Option<i64> {
        match self.phase {
            Phase::Arming {
                t0_ns,
                confirmed: true,
            }
            | Phase::Replaying { t0_ns }
            | Phase::Over { t0_ns, .. } => Some(t0_ns),
            _ => None,
        }
    }

    /// How far the run has come between its plan and its last outcome; `None` before and after.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        match self.phase {
            Phase::Gathering => Some(Stage::Gathering),
            Phase::Arming { .. } => Some(Stage::Arming),
            Phase::Replaying { .. } => Some(Stage::Replaying),
            Phase::Preparing | Phase::Over { .. } | Phase::Failed(_) => None,
        }
    }

    /// Why the run failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match &self.phase {
            Phase::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Whether every shard is finished or lost.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    /// The run cannot go on: nothing is sent any more, and workers go home. The first reason stays; a run that is over stays
    /// over.
    pub fn fail(&mut self, failure: Failure) {
        if !matches!(self.phase, Phase::Failed(_) | Phase::Over { .. }) {
            self.set_phase(Phase::Failed(failure));
            // Whoever was promised a T0 stands down.
            self.epoch += 1;
            self.directive += 1;
        }
    }

    /// What was sent is known and nothing can be stopped any more than it is: from T0 on.
    fn is_sending(&self) -> bool {
        matches!(self.phase, Phase::Replaying { .. } | Phase::Over { .. })
    }

    fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.news += 1;
    }
}

/// Nanoseconds of a duration that settings hold; 292 years at most.
fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
