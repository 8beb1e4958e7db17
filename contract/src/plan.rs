//! What a run sends, as far as it is not content: the head of a plan, which every worker gets with its shard.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// All that a plan says about every request, and about the run as a whole. With a shard it is all that a worker needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanHead {
    /// What decides when requests go.
    pub mode: Mode,
    /// Digest of the whole schedule, whatever part of it a shard holds.
    pub schedule_hash: Digest,
    /// Digest of the whole content.
    pub content_digest: Digest,
    /// Requests of the whole plan, warm-up included.
    pub requests: u32,
    /// Workers that share it.
    pub workers: NonZeroU32,
    /// When the first measured request of the whole plan is due, in nanoseconds since T0. `None` in a closed loop.
    pub measured_from_ns: Option<i64>,
    /// How bodies are made of turns.
    pub template: Template,
    /// Where requests go; sessions take turns by their number. At least one.
    pub targets: Vec<String>,
    /// Headers of every request, by name and value. No credentials: those reach the workers on another way.
    pub headers: Vec<(String, String)>,
    /// The longest that one request may take, from the moment it is to go to the end of its answer.
    pub timeout: Duration,
    /// What to do with late requests.
    pub late_policy: LatePolicy,
    /// What counts as late.
    pub late_threshold: Duration,
    /// How long to send, from the moment the first measured request is due.
    pub duration: Option<Duration>,
}

/// What decides when requests go, without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Recorded times.
    Recorded,
    /// A rate.
    Rate,
    /// So many sessions at once.
    Concurrency(NonZeroU32),
}

impl Mode {
    /// The name that `replay.schedule` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "Recorded",
            Self::Rate => "Rate",
            Self::Concurrency(_) => "Concurrency",
        }
    }
}

/// What to do with a request that is later than the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatePolicy {
    /// Send it at once.
    CatchUp,
    /// Leave it out and count it.
    Drop,
    /// End the run.
    Abort,
}

/// The API that bodies are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Api {
    /// The name that `target.api` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
        }
    }

    /// The path that the API is served under.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

/// What the run says about every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Template {
    /// The API.
    pub api: Api,
    /// The model of synthesised bodies. Never rewrites a recorded one.
    pub model: Option<String>,
    /// Rewrites recorded models.
    pub rewrite: ModelRewrite,
    /// Whether to stream: synthesised bodies do unless this says no. A recorded body keeps its own `stream`; one without it
    /// gets it only where this says something.
    pub streaming: Option<bool>,
    /// Whether each answer is to be exactly as long as recorded.
    pub match_output_length: bool,
}

/// How recorded models are rewritten: a hit in the mapping wins, then the override, then the record itself. A body without a
/// model stays without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRewrite {
    /// Recorded name → name to send.
    pub mapping: BTreeMap<String, String>,
    /// The name to send for all others.
    pub override_all: Option<String>,
}

impl ModelRewrite {
    /// Whether nothing is rewritten.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mapping.is_empty() && self.override_all.is_none()
    }

    /// The name to send for a recorded one. `None`: as recorded.
    #[must_use]
    pub fn of(&self, recorded: &str) -> Option<&str> {
        self.mapping
            .get(recorded)
            .or(self.override_all.as_ref())
            .map(String::as_str)
    }
}
