//! From joining to the last outcome: what a worker and the manager exchange.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::PlanHead;

/// The longest incarnation, in bytes.
const MAX_INCARNATION_BYTES: usize = 64;

/// One life of a worker: its pod's UID, or a random number of its process. 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Incarnation(String);

/// A text that names no incarnation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot use {0:?} as an incarnation: it must be 1 to 64 letters, digits, '-', '_' or '.'. Use the pod's UID."
)]
pub struct IncarnationError(pub String);

impl TryFrom<String> for Incarnation {
    type Error = IncarnationError;

    fn try_from(text: String) -> Result<Self, IncarnationError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if (1..=MAX_INCARNATION_BYTES).contains(&text.len()) && text.bytes().all(is_allowed) {
            Ok(Self(text))
        } else {
            Err(IncarnationError(
                text.chars().take(MAX_INCARNATION_BYTES).collect(),
            ))
        }
    }
}

impl From<Incarnation> for String {
    fn from(incarnation: Incarnation) -> Self {
        incarnation.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// `POST /v1/join`: a worker announces itself. The answer waits for the plan, for some seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// [`super::PROTOCOL`] of the worker.
    pub protocol: u32,
    /// The worker's version of Reprise.
    pub version: String,
    /// Its index, from 0.
    pub index: u32,
    /// Its life.
    pub incarnation: Incarnation,
    /// What it can do.
    pub capacity: Capacity,
}

/// What a worker can do, as it measured before it joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capacity {
    /// Threads that send, one runtime each.
    pub threads: u32,
    /// Requests a second that it can send and read the answers of, all threads together.
    pub requests_per_second: u32,
    /// Connections that its open files and local ports allow.
    pub connections: u32,
}

/// The answer to [`Join`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Joined {
    /// The plan is not ready yet: join again at once.
    NotYet {
        /// What the manager is doing, for people.
        doing: String,
    },
    /// Here is the plan.
    #[serde(rename_all = "camelCase")]
    Welcome {
        /// The manager's own life. Another one in a later answer means that the run is gone.
        manager: Incarnation,
        /// The shard to fetch.
        shard: u32,
        /// What all requests have in common.
        plan: Box<PlanHead>,
    },
    /// Go home: exit 0.
    Released {
        /// Why.
        release: Release,
    },
}

/// Why a worker may go home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Release {
    /// The run is over, and the manager has all that this worker measured.
    RunOver,
    /// Its predecessor was lost after T0, and with it the shard.
    ShardLost,
    /// The run failed before T0: nothing is sent.
    RunFailed,
}

/// `GET /v1/clock`: the manager's monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockReading {
    /// The manager's own life.
    pub manager: Incarnation,
    /// Nanoseconds on its monotonic clock, since an instant that it fixed when it started.
    pub manager_ns: i64,
}

/// One round trip to the manager's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockSample {
    /// The worker's clock in the middle of the round trip: nanoseconds since an instant that its process fixed.
    pub local_ns: i64,
    /// The manager's clock, as it answered.
    pub manager_ns: i64,
    /// How long it took, in nanoseconds: the manager's stamp is at most half of this away from the middle.
    pub round_trip_ns: u64,
}

/// `POST /v1/ready/{n}`: the shard is loaded, connections are warm, the clock is known. The answer waits for the others, for
/// some seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ready {
    /// Who says so.
    pub incarnation: Incarnation,
    /// Why it can never be ready, such as a target that it cannot use; `None` when it is. A reason ends the run.
    pub failure: Option<String>,
}

/// The answer to [`Ready`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Readied {
    /// Others are missing: ask again at once.
    NotYet {
        /// Workers that are ready.
        ready: u32,
        /// Workers that are needed.
        workers: u32,
    },
    /// All are ready. To be confirmed by [`Armed`].
    #[serde(rename_all = "camelCase")]
    Start {
        /// Counts proposals of T0, from 1.
        epoch: u32,
        /// T0 on the manager's clock.
        t0_manager_ns: i64,
    },
    /// Go home: exit 0.
    Released {
        /// Why.
        release: Release,
    },
}

/// `POST /v1/armed/{n}`: T0 is confirmed. The answer waits for the others, until shortly before T0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Armed {
    /// Who confirms.
    pub incarnation: Incarnation,
    /// Which proposal.
    pub epoch: u32,
    /// T0 as it was understood.
    pub t0_manager_ns: i64,
}

/// The answer to [`Armed`]. Whoever has none 2 s before T0 sends nothing, and asks by [`Ready`] again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Confirmed {
    /// All have confirmed: start at T0, unless a [`Directive`] of a later epoch comes before.
    Go,
    /// This proposal is void: ask by [`Ready`] again.
    Moved,
    /// Go home: exit 0.
    Released {
        /// Why.
        release: Release,
    },
}

/// `GET /v1/control/{n}`: what a worker is to do. The answer waits for news, for some seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Directive {
    /// Grows with every change; to be named in the next call.
    pub number: u64,
    /// The proposal of T0 that holds. A greater one than the worker confirmed, before T0: stand down, ask by [`Ready`] again.
    pub epoch: u32,
    /// Stop sending, if it says so.
    pub stop: Option<Stop>,
    /// Go home, if it says so.
    pub release: Option<Release>,
}

/// Why sending stops before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "cause")]
pub enum Stop {
    /// Somebody cancelled the run.
    Cancelled,
    /// Its deadline has passed.
    DeadlinePassed,
    /// `latePolicy: Abort`, or a loss that `lossPolicy: Fail` does not bear, or a fault.
    Aborted {
        /// Why, as a sentence.
        message: String,
    },
}

/// The answer to `POST /v1/outcomes/{n}`, whose body is a batch ([`super::batch`]): everything before `next` is safe with the
/// manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Received {
    /// The number of the batch that is wanted next.
    pub next: u64,
    /// The newest directive.
    pub directive: Directive,
}
