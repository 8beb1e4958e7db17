//! A shard and who holds it.

use reprise_contract::protocol::{Capacity, Incarnation};

use super::ShardFacts;

/// A shard, who holds it, and what came of it.
pub(super) struct Slot {
    pub(super) facts: ShardFacts,
    pub(super) holder: Option<Holder>,
    /// Since when no worker was seen here: the plan's moment, or the last sign of the one that was.
    pub(super) seen_ns: i64,
    pub(super) delivery: Delivery,
    pub(super) end: Option<End>,
    /// Lives that took it, one after the other.
    pub(super) lives: u32,
}

/// The incarnation that holds a shard.
pub(super) struct Holder {
    pub(super) incarnation: Incarnation,
    pub(super) capacity: Capacity,
    pub(super) state: HolderState,
    /// When it was last heard from.
    pub(super) heard_ns: i64,
    /// When a call of it broke off, unless it was heard from since.
    pub(super) broke_off_ns: Option<i64>,
    /// Its calls that wait for an answer.
    pub(super) waiting: u32,
    /// Whether it was told to go home.
    pub(super) is_home: bool,
}

/// How far a holder has come before T0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HolderState {
    /// It loads its shard, or has to ask by ready again.
    Joined,
    /// It is ready.
    Ready,
    /// It was told the present proposal of T0.
    Told,
    /// It has confirmed it.
    Armed,
}

/// What a holder has delivered.
#[derive(Default)]
pub(super) struct Delivery {
    /// The number of the batch that is wanted next.
    pub(super) next: u64,
    /// Whether that batch is on its way to the disk.
    pub(super) is_storing: bool,
    pub(super) delivered: u32,
    pub(super) completed: u32,
    pub(super) failed: u32,
    /// As the holder last said.
    pub(super) sent: u32,
    pub(super) watermark_ns: Option<i64>,
    pub(super) lag_max_ns: i64,
    /// When the last outcomes came.
    pub(super) progress_ns: Option<i64>,
}

/// What came of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Finished,
    Lost(Loss),
}

/// A shard that was lost after T0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When the loss was certain, in nanoseconds since T0. Whatever was due before may have been sent. `None`: the worker never
    /// started, so it has sent nothing.
    pub at_ns: Option<i64>,
    /// What proved it.
    pub cause: LossCause,
}

/// What proved that a worker is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Another incarnation came in its place.
    Restarted,
    /// It was silent, or delivered nothing, for too long after all of its answers had to be in.
    Silent,
    /// It did not start at T0.
    NotStarted,
    /// It was told to end by its system, and delivered what it had measured.
    Left,
    /// It delivered what contradicts the plan.
    Contradicted(String),
}

impl LossCause {
    /// The cause as the end of a sentence about the worker.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Restarted => "died, and another process came in its place".to_owned(),
            Self::Silent => "was not heard from any more".to_owned(),
            Self::NotStarted => "did not hear in time that all had confirmed T0".to_owned(),
            Self::Left => "was told to end before it was done".to_owned(),
            Self::Contradicted(why) => format!("delivered outcomes that contradict the plan ({why})"),
        }
    }
}

/// What there is to say about a worker when the run is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    /// Its index, which is its shard's.
    pub index: u32,
    /// The life that held the shard last.
    pub incarnation: Option<Incarnation>,
    /// How many lives held it, one after the other.
    pub lives: u32,
    /// What it said that it can do.
    pub capacity: Option<Capacity>,
    /// Requests of its shard.
    pub requests: u32,
    /// Requests that it sent, as it last said.
    pub sent: u32,
    /// Outcomes that it delivered.
    pub delivered: u32,
    /// Its last watermark, in nanoseconds since T0.
    pub watermark_ns: Option<i64>,
    /// How it was lost, if it was.
    pub loss: Option<Loss>,
}

impl Slot {
    pub(super) fn new(facts: ShardFacts, now: i64) -> Self {
        Self {
            facts,
            holder: None,
            seen_ns: now,
            delivery: Delivery::default(),
            end: None,
            lives: 0,
        }
    }

    pub(super) fn is_held_by(&self, incarnation: &Incarnation) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.incarnation == *incarnation)
    }

    pub(super) fn state(&self) -> Option<HolderState> {
        self.holder.as_ref().map(|holder| holder.state)
    }

    pub(super) fn loss(&self) -> Option<&Loss> {
        match &self.end {
            Some(End::Lost(loss)) => Some(loss),
            Some(End::Finished) | None => None,
        }
    }

    pub(super) fn record(&self, index: u32) -> WorkerRecord {
        let holder = self.holder.as_ref();
        WorkerRecord {
            index,
            incarnation: holder.map(|holder| holder.incarnation.clone()),
            lives: self.lives,
            capacity: holder.map(|holder| holder.capacity),
            requests: self.facts.requests,
            sent: self.delivery.sent.max(self.delivery.delivered_that_were_sent()),
            delivered: self.delivery.delivered,
            watermark_ns: self.delivery.watermark_ns,
            loss: self.loss().cloned(),
        }
    }
}

impl Delivery {
    /// At least so many were sent: what completed or failed.
    fn delivered_that_were_sent(&self) -> u32 {
        self.completed + self.failed
    }
}

impl Holder {
    pub(super) fn hear(&mut self, now: i64) {
        self.heard_ns = self.heard_ns.max(now);
        self.broke_off_ns = None;
    }
}
