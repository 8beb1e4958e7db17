//! What many workers add to the result of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one worker did. Counts include warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerResult {
    /// Its index, from 0.
    pub index: u32,
    /// Requests of its part of the plan.
    pub requests: u64,
    /// Those that reached the target's socket.
    pub sent: u64,
    /// Those with a complete answer.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// How late its requests went. `None` when none went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<WorkerLag>,
    /// What is known of its clock. `None` when it was lost before it said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WorkerClock>,
    /// How it was lost after T0, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<WorkerLoss>,
}

/// How late the requests of one worker went: sent minus due, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerLag {
    /// Median, at most 1/64 too high; what went early counts as 0.
    pub p50_ms: f64,
    /// 99th percentile, at most 1/64 too high; what went early counts as 0.
    pub p99_ms: f64,
    /// The greatest, exact.
    pub max_ms: f64,
}

/// What is known of a worker's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerClock {
    /// How far a time of its that was mapped to the manager's clock may be off: half of the shortest round trip.
    pub error_ms: f64,
    /// How much faster it runs than the manager's, in millionths.
    pub drift_ppm: f64,
    /// Round trips that were looked at.
    pub samples: u64,
}

/// A worker that was lost after T0. Of its requests, those without an outcome are `notSent` or `unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerLoss {
    /// When the loss was certain, in seconds from T0. `None`: it never sent anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    /// Requests that it may have sent, and of which nothing is known.
    pub unknown: u64,
    /// Requests that it certainly did not send.
    pub not_sent: u64,
}

/// How well the workers' clocks agree with the manager's. It is in no latency and in no lag: those are measured on the clock
/// of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClockError {
    /// The greatest distance between the instant at which a request was due on its worker's clock, mapped to the manager's,
    /// and the instant that the schedule says.
    pub max_ms: f64,
    /// The same on average.
    pub mean_ms: f64,
    /// How far a mapped time may be off: the greatest `errorMs` of a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ms: Option<f64>,
}

/// How the plan was split among workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SplitResult {
    /// How many workers.
    pub workers: u32,
    /// Who chose that number and why, or how it was done, for people.
    pub chosen_by: String,
    /// Requests of the worker with the fewest, warm-up included.
    pub requests_least: u64,
    /// Requests of the worker with the most, warm-up included.
    pub requests_most: u64,
    /// `requestsMost` divided by the mean: 1 is even.
    pub requests_skew: f64,
    /// From the least to the greatest p99 of a worker's lag. `None` when fewer than two workers sent anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_spread_ms: Option<f64>,
}
