//! The result of a run: `summary.json`.
//!
//! It holds numbers, histograms, series over time and provenance; no bodies, no prompts, no credentials. The HTML report
//! is rendered from it alone. Latencies are in milliseconds, as the field names say; counts are exact.

mod metrics;
mod provenance;
mod workers;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use metrics::{Counts, Distribution, Failure, InAll, Lag, Metrics, Percentiles, SloResult, Throughput};
pub use provenance::{
    DatasetFile, DatasetProvenance, Host, Pin, PinnedBy, Provenance, ScheduleProvenance, TargetProvenance,
    TokenizerProvenance,
};
pub use workers::{ClockError, SplitResult, WorkerClock, WorkerLag, WorkerLoss, WorkerResult};

/// The version of this schema. It changes when a field changes its meaning or goes; new fields do not change it.
pub const SCHEMA_VERSION: &str = "reprise.dev/summary/v1";

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Always `reprise.dev/summary/v1`.
    pub schema_version: String,
    /// The name of the run: `metadata.name`.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Why it ended so, where there is more to say than the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether a part of the load is missing, as workers were lost and `lossPolicy` is `Degrade`. The verdict is about the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// T0 on the wall clock, RFC 3339, to relate the run to other logs. No duration is derived from it.
    pub started_at: String,
    /// From T0 to the end of the last request, in seconds.
    pub elapsed_s: f64,
    /// How many requests there were, and what became of them.
    pub counts: Counts,
    /// How late requests went. `None` when none went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// What was measured. `None` when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// Rates over the measured span. `None` when nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Goodput, where the spec has an `slo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<SloResult>,
    /// What each worker did, by index. Empty when one process did it all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerResult>,
    /// How the plan was split among workers. `None` when one process did it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitResult>,
    /// How well the workers' clocks agree. `None` when one process did it all, or nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error: Option<ClockError>,
    /// What happened over time, in equal slices from T0 on, at most 300.
    pub series: Series,
    /// How percentiles are computed.
    pub percentile_method: String,
    /// What was chosen, by whom and with which digests.
    pub provenance: Provenance,
    /// What the reader should know before trusting a number.
    pub warnings: Vec<Warning>,
    /// The spec as it ran, defaults filled in.
    pub spec: serde_json::Value,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// Every planned request was accounted for, and something was measured. Where `degraded` is set, but for those of lost workers.
    Succeeded,
    /// Nothing was measured, no answer bore output, requests are unaccounted for, the generator ran out of file descriptors
    /// or local ports, a worker was lost and `lossPolicy` is `Fail`, a deadline passed, or the run was aborted.
    Failed,
    /// Somebody ended it; the numbers cover what was measured until then.
    Cancelled,
}

/// Something that the reader should know before trusting a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name in `CamelCase`.
    pub code: String,
    /// The same for people.
    pub message: String,
}

/// What happened over time, one value a slice. Counts include warm-up, as the target felt it too; medians do not. The run
/// ends within the last slice, and a rate is a count divided by the length of a whole slice there too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The length of a slice, in seconds.
    pub slice_s: f64,
    /// When the first measured request was sent, in seconds from T0: what goes before is warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_from_s: Option<f64>,
    /// Requests that the schedule wanted in this slice.
    pub recorded: Vec<u32>,
    /// Requests sent in this slice.
    pub sent: Vec<u32>,
    /// Requests completed in this slice.
    pub completed: Vec<u32>,
    /// Requests failed in this slice.
    pub failed: Vec<u32>,
    /// Requests in flight at the end of this slice.
    pub in_flight: Vec<u32>,
    /// Output tokens in this slice of the requests that completed. Those of a streamed answer are spread evenly from its
    /// first to its last output; those of any other answer count when it ended.
    pub output_tokens: Vec<u64>,
    /// The greatest lag of the requests sent in this slice, in milliseconds. `None`: none was sent.
    pub lag_max_ms: Vec<Option<f64>>,
    /// The median TTFT of the completed requests sent in this slice, in milliseconds.
    pub ttft_p50_ms: Vec<Option<f64>>,
    /// The median latency of the completed requests sent in this slice, in milliseconds.
    pub latency_p50_ms: Vec<Option<f64>>,
}

/// The JSON schema of `summary.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}
