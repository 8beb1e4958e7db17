//! When requests go.
//!
//! A [`Schedule`] is made of a content and a [`Load`]: recorded times, a rate, or a number of sessions at once. Its hash
//! identifies the load: equal hashes over equal content offer the same requests at the same times.

mod arrivals;
mod build;
mod hash;

use std::num::NonZeroU32;
use std::time::Duration;

use reprise_contract::Digest;

pub use build::build;
pub use reprise_contract::plan::Mode;

/// What decides when requests go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// The recorded times, `speed` times as fast, rebased so that the earliest selected record is at offset 0.
    Recorded {
        /// Above 0, finite. 2 replays an hour in half an hour; delays after turns shrink as well.
        speed: Speed,
        /// Which part of the trace.
        window: Window,
    },
    /// Arrivals at a rate, in the order of the trace; recorded times are left aside.
    Rate(Arrivals),
    /// So many sessions at once, each taking the next when it ends.
    Concurrency(NonZeroU32),
}

/// How fast recorded time passes. Above 0, finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// As recorded.
    pub const RECORDED: Self = Self(1.0);

    /// `None` unless `speed` is finite and above 0.
    #[must_use]
    pub fn new(speed: f64) -> Option<Self> {
        (speed.is_finite() && speed > 0.0).then_some(Self(speed))
    }
}

/// Arrivals a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    per_second: f64,
    process: Process,
}

impl Arrivals {
    /// `None` unless `per_second` is finite and above 0.
    #[must_use]
    pub fn new(per_second: f64, process: Process) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Self { per_second, process })
    }
}

/// How the gaps between arrivals are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Equal gaps.
    Constant,
    /// Exponential gaps from this seed.
    Poisson {
        /// The seed.
        seed: u64,
    },
}

/// A part of the trace, in recorded time since its earliest record. A session belongs to it, whole, when its first turn does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where it begins, inclusive.
    pub start: Duration,
    /// Where it ends, exclusive; the end of the trace when absent.
    pub end: Option<Duration>,
}

/// How many requests are in a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Requests that warm up: the first ones of the schedule.
    pub warmup: u32,
    /// Requests that count; all that are there when absent.
    pub requests: Option<NonZeroU32>,
}

/// The requests of a run, in the order of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What decides when they go.
    pub mode: Mode,
    /// The requests. A session's turns keep their order.
    pub requests: Vec<Request>,
    /// Records of the trace that are not in it.
    pub left_out: LeftOut,
}

/// One request of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its turn's row in the content.
    pub turn: u32,
    /// When it is due, in nanoseconds since T0, unless the turn before it ends later.
    pub offset_ns: Option<i64>,
    /// How long after the end of the turn before it is due, in nanoseconds; 0 for at once.
    pub delay_ns: u64,
    /// The session's next request, as an index into the schedule.
    pub next: Option<u32>,
    /// Its place in its session as scheduled, from 0.
    pub place: u32,
    /// Whether it only warms up.
    pub is_warmup: bool,
}

/// Records that a schedule leaves out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their session begins outside the window.
    pub outside_window: u32,
    /// `requests` were enough without them.
    pub beyond_requests: u32,
}

impl LeftOut {
    /// How many.
    #[must_use]
    pub fn total(self) -> u32 {
        self.outside_window + self.beyond_requests
    }
}

impl Schedule {
    /// The digest of the load that it offers.
    #[must_use]
    pub fn hash(&self) -> Digest {
        hash::hash(self)
    }

    /// When the last request with an offset is due, in nanoseconds since T0.
    #[must_use]
    pub fn last_offset_ns(&self) -> Option<i64> {
        self.requests.iter().filter_map(|request| request.offset_ns).max()
    }
}

/// A load that the content cannot give.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ScheduleError {
    /// No recorded times.
    #[error(
        "Cannot use the recorded schedule: the record on line {line} has no time. Set replay.schedule to Rate or Concurrency."
    )]
    Untimed {
        /// The line of the trace.
        line: u32,
    },
    /// The window holds nothing.
    #[error(
        "Cannot use replay.window: no session begins in it; sessions of the trace begin from 0s to {last:?}. Move it."
    )]
    EmptyWindow {
        /// When the last session begins, since the earliest record.
        last: Duration,
    },
    /// Warm-up takes everything.
    #[error(
        "Cannot use replay.warmup: it takes {warmup} requests and the schedule has {requests}, so none would be measured. \
         Lower it."
    )]
    OnlyWarmup {
        /// Requests that warm up.
        warmup: u32,
        /// Requests of the schedule.
        requests: u32,
    },
    /// A time does not fit.
    #[error(
        "Cannot use replay.speed or replay.rate: the schedule would last longer than 292 years. Raise it."
    )]
    TooLong,
}

#[cfg(test)]
mod tests;
