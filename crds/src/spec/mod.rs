//! `ReplayJob` and the types that its spec is made of.

mod dataset;
mod replay;
mod results;
mod slo;
mod status;
mod target;
mod workers;

pub use dataset::{Dataset, DatasetOptions, S3Location, TimestampUnit, TraceFormat, UnknownColumns};
pub use replay::{Arrivals, LatePolicy, Rate, Replay, Schedule, Warmup, Window};
pub use results::{Results, ResultsS3};
pub use slo::Slo;
pub use status::ReplayJobStatus;
pub use target::{Api, Target};
pub use workers::{LossPolicy, Workers};

use std::num::NonZeroU32;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;

/// The API group of every Reprise resource.
pub const GROUP: &str = "reprise.dev";
/// The only version so far.
pub const VERSION: &str = "v1alpha1";

/// What to replay, against which endpoint, on what schedule, and what to keep of it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "reprise.dev",
    version = "v1alpha1",
    kind = "ReplayJob",
    doc = "One replay of a published or recorded LLM trace against a serving endpoint.",
    namespaced,
    shortname = "rj",
    category = "reprise",
    status = "ReplayJobStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}"#,
    printcolumn = r#"{"name": "Source", "type": "string", "jsonPath": ".spec.dataset.source", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct ReplayJobSpec {
    /// The trace to replay and how to read it.
    pub dataset: Dataset,
    /// The endpoint that receives the requests, and what is filled into them.
    pub target: Target,
    /// When requests are sent, how many of them, and what happens to late ones.
    #[serde(default)]
    pub replay: Replay,
    /// Latency objectives. A request that meets all that are given counts as good (goodput).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// What is kept of the run.
    #[serde(default)]
    pub results: Results,
    /// How many workers share the load in a cluster.
    #[serde(default)]
    pub workers: Workers,
    /// How many seconds an attempt may take, from its start to the end of sending: preparing the dataset and waiting for
    /// workers are part of it. Then nothing more is sent, and the run fails with a report of what was measured. Unless given,
    /// there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 604_800), extend("format" = "int32"))]
    pub timeout_seconds: Option<NonZeroU32>,
}
