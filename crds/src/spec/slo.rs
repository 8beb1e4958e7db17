//! `spec.slo`: latency objectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;
use crate::duration::{TimeSpan, describe_durations};

/// Latency objectives of one request; at least one is given. A request that meets all of them counts as good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations, extend("minProperties" = 1))]
pub struct Slo {
    /// Time to first token, at most. More than 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft: Option<TimeSpan>,
    /// Mean gap between output tokens, at most. More than 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inter_token_latency: Option<TimeSpan>,
    /// Time from sending to the end of the answer, at most. More than 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_latency: Option<TimeSpan>,
}
