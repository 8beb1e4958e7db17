//! `spec.results`: what is kept of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;

/// What is kept of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct Results {
    /// Whether every request's outcome is written (outcomes.parquet) beside the summary.
    #[serde(default = "per_request_by_default")]
    pub per_request: bool,
}

fn per_request_by_default() -> bool {
    true
}

impl Default for Results {
    fn default() -> Self {
        Self {
            per_request: per_request_by_default(),
        }
    }
}
