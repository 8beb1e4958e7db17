//! `spec.replay`: when requests are sent, how many, and what happens to late ones.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;
use crate::duration::{TimeSpan, describe_durations};
use crate::number::PositiveNumber;

/// When requests are sent, how many of them, and what happens to late ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations)]
pub struct Replay {
    /// What decides when a request is sent.
    #[serde(default)]
    pub schedule: Schedule,
    /// A request rate, for schedule Rate or Auto.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How many requests (or sessions) are in flight at any time, for schedule Concurrency or Auto.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000), extend("format" = "int32"))]
    pub concurrency: Option<NonZeroU32>,
    /// How much faster than recorded: 2 halves every recorded pause. Acts on recorded times only.
    #[serde(default)]
    pub speed: PositiveNumber,
    /// The part of the trace that is replayed, in recorded time from its first record. Acts on recorded times only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Requests that are sent first, on the same schedule, and not measured.
    #[serde(default)]
    pub warmup: Warmup,
    /// How long requests are sent, from the first measured arrival on. What is in flight then may finish. More than 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<TimeSpan>,
    /// How many measured requests are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64), extend("format" = "int64"))]
    pub requests: Option<NonZeroU64>,
    /// What to do about a request that is later than `lateThreshold`.
    #[serde(default)]
    pub late_policy: LatePolicy,
    /// The lag (sent minus due) above which a request counts as late. More than 0s with latePolicy Drop or Abort.
    #[serde(default = "default_late_threshold")]
    pub late_threshold: TimeSpan,
    /// Whether the endpoint is asked to write exactly as many tokens as were recorded.
    #[serde(default)]
    pub match_output_length: bool,
    /// The seed of everything that is drawn: synthesised text and Poisson arrivals. Same seed, same requests.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64), extend("format" = "int64"))]
    pub seed: u64,
}

fn default_late_threshold() -> TimeSpan {
    TimeSpan::from(Duration::from_millis(50))
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            rate: None,
            concurrency: None,
            speed: PositiveNumber::default(),
            window: None,
            warmup: Warmup::default(),
            duration: None,
            requests: None,
            late_policy: LatePolicy::default(),
            late_threshold: default_late_threshold(),
            match_output_length: false,
            seed: 0,
        }
    }
}

/// What decides when a request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Schedule {
    /// Recorded if the trace has times; else the given rate or concurrency; else one request at a time.
    #[default]
    Auto,
    /// The recorded times, open loop.
    Recorded,
    /// A request rate, open loop.
    Rate,
    /// A fixed number of requests in flight, closed loop.
    Concurrency,
    /// Simulated users, closed loop. Not supported yet.
    Users,
}

/// A request rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct Rate {
    /// Requests a second, on average.
    pub per_second: PositiveNumber,
    /// How arrivals are spread.
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// How the arrivals of a rate are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Arrivals {
    /// Independent of each other: exponentially distributed gaps, drawn with the seed.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
}

/// A part of the trace, in recorded time from its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations)]
pub struct Window {
    /// The first instant that belongs to the window.
    #[serde(default)]
    pub start: TimeSpan,
    /// The first instant after the window, later than start. Without it, the window reaches to the end of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TimeSpan>,
}

/// Requests that are sent before what is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct Warmup {
    /// How many requests.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), extend("format" = "int64"))]
    pub requests: u64,
}

/// What to do about a request that is later than the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LatePolicy {
    /// Send it at once and count it.
    #[default]
    CatchUp,
    /// Leave it out and count it.
    Drop,
    /// End the run.
    Abort,
}
