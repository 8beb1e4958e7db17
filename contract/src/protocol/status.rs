//! How a run stands, and what the operator wants of it.

use serde::{Deserialize, Serialize};

use super::gathering::Incarnation;

/// `GET /v1/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// [`super::PROTOCOL`].
    pub protocol: u32,
    /// The manager's own life.
    pub manager: Incarnation,
    /// How far the run has come.
    pub stage: Stage,
    /// How far the stage has come, where it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// T0 on the wall clock, RFC 3339, once it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t0: Option<String>,
    /// The workers, by index.
    pub workers: Vec<WorkerStatus>,
    /// The numbers so far.
    pub numbers: LiveNumbers,
    /// Why it failed or was stopped, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is known of the trace, as soon as it is: the `dataset` of the result's provenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<serde_json::Value>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Access check and version.
    Pinning,
    /// Downloading the trace.
    Fetching,
    /// Reading the trace and building its content.
    Building,
    /// The plan is ready; workers join, load and calibrate.
    Gathering,
    /// T0 is proposed or stands, and is still ahead.
    Arming,
    /// From T0 on.
    Replaying,
    /// All outcomes are there, or given up on: merging.
    Merging,
    /// Writing the result where it is to be kept.
    Storing,
    /// The result can be read.
    Holding,
    /// Nothing more happens.
    Ended,
}

/// How far a stage has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// So much.
    pub done: u64,
    /// Of so much, where that is known.
    pub total: Option<u64>,
    /// Of what: `bytes`, `records`, `workers` or `requests`.
    pub unit: String,
}

/// A worker, as the manager sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// Its index.
    pub index: u32,
    /// Its life; `None` before it joins.
    pub incarnation: Option<Incarnation>,
    /// How far it has come.
    pub state: WorkerState,
    /// Requests of its shard.
    pub requests: u32,
    /// Outcomes that it has delivered.
    pub delivered: u32,
    /// Seconds since it was last heard from.
    pub silent_s: Option<f64>,
    /// How well its clock is known, in milliseconds.
    pub clock_error_ms: Option<f64>,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WorkerState {
    /// It has not joined.
    Missing,
    /// It has joined, and loads its shard.
    Joined,
    /// It is ready.
    Ready,
    /// It has confirmed T0.
    Armed,
    /// It replays.
    Replaying,
    /// It has delivered everything.
    Finished,
    /// It was lost after T0.
    Lost,
}

/// The numbers of a run so far. Requests of warm-up are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveNumbers {
    /// Requests of the plan.
    pub planned: u64,
    /// Requests that were sent, as the workers last said.
    pub sent: u64,
    /// Outcomes that were delivered.
    pub received: u64,
    /// Of those, completed.
    pub completed: u64,
    /// Of those, failed.
    pub failed: u64,
    /// The greatest lag, in milliseconds.
    pub lag_max_ms: f64,
    /// Requests sent a second, over the last seconds.
    pub sent_per_second: f64,
}

/// `POST /v1/control`, and the control file: what the operator wants. What is absent stays as it was. A cancel cannot be taken
/// back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// End the run now; what was measured is reported.
    #[serde(default)]
    pub cancel: bool,
    /// End the run at this time, RFC 3339; what was measured is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
}

/// `GET /v1/results`: the files of the result. Each is read under its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultFiles {
    /// Sorted by name.
    pub files: Vec<ResultFile>,
}

/// A file of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultFile {
    /// Its name, without folders.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}
