//! The numbers of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// How many requests there were, and what became of them:
/// `planned = warmup + measured + unknown`, and `measured = completed + failed + cancelled + dropped + notSent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Requests in the plan.
    pub planned: u64,
    /// Those of them that only warm up; in no other count.
    pub warmup: u64,
    /// Warm-up requests that did not complete.
    pub warmup_not_completed: u64,
    /// Those of which no outcome is known, as the worker that had them was lost. A run that has any has failed, unless
    /// `lossPolicy` is `Degrade`.
    #[serde(default)]
    pub unknown: u64,
    /// What became of all of them, warm-up included.
    #[serde(default)]
    pub in_all: InAll,
    /// Those that count.
    pub measured: u64,
    /// Measured requests that reached the target's socket.
    pub sent: u64,
    /// Measured requests with a complete answer.
    pub completed: u64,
    /// Measured requests that failed.
    pub failed: u64,
    /// Measured requests in flight when the run was cancelled.
    pub cancelled: u64,
    /// Measured requests that `latePolicy: Drop` left out.
    pub dropped: u64,
    /// Measured requests that never went.
    pub not_sent: u64,
    /// `notSent` by reason.
    pub not_sent_by_reason: BTreeMap<String, u64>,
    /// `failed` by cause.
    pub failures: BTreeMap<String, Failure>,
    /// Completed measured requests whose answer bore no output: no chunk did, and the count of output tokens is 0.
    #[serde(default)]
    pub completed_without_output: u64,
    /// Completed measured requests whose output length, by the server's own count, is not the one asked for by
    /// `matchOutputLength`.
    pub output_length_mismatches: u64,
    /// Sessions of which some turns, but not all, were sent, warm-up included.
    pub partial_sessions: u64,
}

/// What became of every planned request, warm-up included: `planned = sent + unreached + dropped + notSent + unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InAll {
    /// Reached the target's socket.
    pub sent: u64,
    /// Were to go, and failed or were cancelled before they reached the target's socket.
    pub unreached: u64,
    /// Left out by `latePolicy: Drop`.
    pub dropped: u64,
    /// Never went.
    pub not_sent: u64,
}

/// Failures of one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// How many.
    pub count: u64,
    /// What the one that comes first in the plan said.
    pub example: String,
}

/// How late requests went: sent minus due, absolute, warm-up included (a late warm-up is a late generator).
/// Nothing is subtracted: a constant lateness shows in every number here, `minMs` included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lag {
    /// Requests that have a lag: all that were sent.
    pub count: u64,
    /// The least.
    pub min_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The greatest.
    pub max_ms: f64,
    /// `replay.lateThreshold`.
    pub threshold_ms: f64,
    /// How many were later than the threshold.
    pub late: u64,
}

/// What was measured, over completed requests: one that failed, was cut or was cancelled is in none of these numbers. A
/// metric is `None` when no request has a value for it, such as TTFT where no answer was streamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Time to first token: first output (content, reasoning or a tool call) minus sent. Streaming only.
    pub ttft_ms: Option<Distribution>,
    /// First output minus recorded: what a user of the recorded traffic would have waited, the generator's and the
    /// session's lateness included (no coordinated omission).
    pub ttft_from_schedule_ms: Option<Distribution>,
    /// First content minus sent; reasoning does not count.
    pub time_to_first_content_ms: Option<Distribution>,
    /// Time per output token: (last output minus first output) / (output tokens - 1), rounded to a nanosecond, one value a
    /// streamed request of at least two tokens. `outputTokenSources` says who counted them; where chunks were counted in
    /// their place, a chunk of several tokens makes this too high.
    pub tpot_ms: Option<Distribution>,
    /// Gaps between consecutive chunks that bore output, all requests together. A chunk may hold several tokens.
    /// Count, mean and extremes are exact; the rest is from a histogram: percentiles are at most 1/64 too high.
    pub inter_chunk_latency_ms: Option<Distribution>,
    /// Done minus sent.
    pub request_latency_ms: Option<Distribution>,
    /// Done minus recorded.
    pub request_latency_from_schedule_ms: Option<Distribution>,
    /// Due minus recorded, of the turns after a session's first: how long they waited for the turn before.
    pub dependency_wait_ms: Option<Distribution>,
    /// Opening a connection, where one was opened.
    pub connect_ms: Option<Distribution>,
    /// Input tokens a request.
    pub input_tokens: Option<Distribution>,
    /// Output tokens a request.
    pub output_tokens: Option<Distribution>,
    /// How many of the counts of input tokens come from where (`serverUsage`, `trace` …).
    pub input_token_sources: BTreeMap<String, u64>,
    /// How many of the counts of output tokens come from where.
    pub output_token_sources: BTreeMap<String, u64>,
    /// Prompt tokens that the server took from its cache, as a share (0 to 1) of all prompt tokens of the requests for which
    /// it said so.
    pub cached_input_share: Option<f64>,
}

/// A set of values, in the unit of the field that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, of these values as the whole population.
    pub std_dev: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Percentiles.
    #[serde(flatten)]
    pub percentiles: Percentiles,
    /// The values in the layout of `reprise_contract::histogram` (`[bucket, count]` pairs; a latency in nanoseconds, a count as
    /// it is).
    #[schemars(with = "Vec<(u32, u64)>")]
    pub histogram: Histogram,
}

/// Percentiles, in the unit of what holds them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the names say it all")]
pub struct Percentiles {
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
}

/// Rates over the measured span: from the first measured request's sending to the last one's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    /// The span, in seconds.
    pub span_s: f64,
    /// From the first to the last sending of a measured request, in seconds.
    pub sending_span_s: f64,
    /// Completed requests a second.
    pub requests_per_second: f64,
    /// Output tokens of completed requests a second.
    pub output_tokens_per_second: f64,
    /// Input tokens of completed requests a second.
    pub input_tokens_per_second: f64,
    /// The most requests in flight at once, warm-up included.
    pub peak_in_flight: u64,
}

/// Goodput: the completed requests that met every limit of `slo`. One that lacks a value that a limit needs (no TTFT, as it
/// was not streamed) is not good. An answer of at most one token has no time between tokens and meets that limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SloResult {
    /// The limit on TTFT (from sent), in milliseconds.
    pub ttft_ms: Option<f64>,
    /// The limit on the mean time between output tokens of a request (TPOT), in milliseconds.
    pub inter_token_latency_ms: Option<f64>,
    /// The limit on the request latency (from sent), in milliseconds.
    pub request_latency_ms: Option<f64>,
    /// Requests that met every limit.
    pub good: u64,
    /// As a share (0 to 1) of all measured requests but those not sent: failed, cancelled and dropped ones are not good.
    pub good_share: f64,
    /// Good requests a second of the measured span.
    pub goodput_per_second: f64,
}
