//! `spec.workers`: how many workers share the load.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;

/// The workers that share the load in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct Workers {
    /// How many worker pods. `reprise run` uses one process whatever this says, unless `--workers` asks for more.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 1, max = 1000), extend("format" = "int32"))]
    pub replicas: NonZeroU16,
    /// What to do when a worker is lost after sending began. Until then, a replacement takes its place without loss.
    #[serde(default)]
    pub loss_policy: LossPolicy,
}

fn one_replica() -> NonZeroU16 {
    NonZeroU16::MIN
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            replicas: one_replica(),
            loss_policy: LossPolicy::default(),
        }
    }
}

/// What to do when a worker is lost after sending began. Either way its requests are counted: as sent, not sent, dropped,
/// or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LossPolicy {
    /// Stop the run. It fails, with a report of what was measured until then.
    #[default]
    Fail,
    /// Go on without that worker. The run can succeed, and its result is marked as degraded.
    Degrade,
}
