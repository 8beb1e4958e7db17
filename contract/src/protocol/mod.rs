//! What a run's dataset-manager and its workers say to each other, and what the operator says to the manager.
//!
//! HTTPS with a certificate of the run, a bearer token for each [`Role`], JSON for the small and Arrow IPC for the bulk
//! ([`batch`], and shards as `reprise-content` writes them). Described for readers in `docs/protocol.md`.
//!
//! Two clocks are involved. *Run time* is the manager's: nanoseconds since T0. A worker stamps on its own monotonic clock, and
//! tells how that relates to the manager's ([`ClockSample`]). `manager_ns` is what [`ClockReading`] gives: nanoseconds on the
//! manager's monotonic clock since an instant that it fixed when it started.

pub mod batch;
mod gathering;
mod status;

use serde::{Deserialize, Serialize};

pub use gathering::{
    Armed, Capacity, ClockReading, ClockSample, Confirmed, Directive, Incarnation, IncarnationError, Join,
    Joined, Readied, Ready, Received, Release, Stop,
};
pub use status::{
    Command, LiveNumbers, Progress, ResultFile, ResultFiles, Stage, Status, WorkerState, WorkerStatus,
};

/// The version of this protocol. Both sides must speak the same.
pub const PROTOCOL: u32 = 1;

/// The greatest JSON body of a request, in bytes.
pub const MAX_JSON_BYTES: usize = 256 << 10;
/// The greatest body of outcomes, in bytes.
pub const MAX_BATCH_BYTES: usize = 8 << 20;

/// The paths of the calls.
pub mod path {
    /// A worker announces itself.
    pub const JOIN: &str = "/v1/join";
    /// The manager's clock.
    pub const CLOCK: &str = "/v1/clock";
    /// A shard, followed by its number.
    pub const SHARDS: &str = "/v1/shards";
    /// Loaded and calibrated, followed by the shard's number.
    pub const READY: &str = "/v1/ready";
    /// T0 confirmed, followed by the shard's number.
    pub const ARMED: &str = "/v1/armed";
    /// What a worker is to do (with the shard's number), or a command of the operator (without).
    pub const CONTROL: &str = "/v1/control";
    /// Outcomes, followed by the shard's number.
    pub const OUTCOMES: &str = "/v1/outcomes";
    /// How the run stands.
    pub const STATUS: &str = "/v1/status";
    /// The files of the result.
    pub const RESULTS: &str = "/v1/results";
}

/// Headers and query parameters.
pub mod names {
    /// Query parameter: the incarnation that asks.
    pub const INCARNATION: &str = "incarnation";
    /// Query parameter of the control call: the number of the last directive that was seen.
    pub const SEEN: &str = "seen";
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A worker of the run.
    Worker,
    /// The operator, or who plays it.
    Operator,
}

impl Role {
    /// Its name, as tokens are derived from it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Operator => "operator",
        }
    }
}

/// The body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Why, for programs.
    pub code: RefusalCode,
    /// Why, and what to do about it, for people.
    pub message: String,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RefusalCode {
    /// 401: no token, or not one of this run.
    WrongToken,
    /// 403: the token's role may not do this.
    WrongRole,
    /// 400: the worker is of another version.
    WrongVersion,
    /// 400: the body or a parameter is not what it should be.
    Malformed,
    /// 413: the body is too large.
    TooLarge,
    /// 404: the plan has no such index.
    NoSuchIndex,
    /// 409: another worker with this index was heard from moments ago. Try again; should it be a lost one, it will be replaced.
    IndexTaken,
    /// 409: another incarnation has taken this one's place.
    Replaced,
    /// 409: the batch leaves a gap; the answer's message names the number that is wanted.
    OutOfOrder,
    /// 404: no such call or file.
    NotFound,
    /// 503: not now (the run has not come so far, or is past it). Try again.
    NotNow,
    /// 507: the manager cannot keep it.
    NoRoom,
}
