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
    /// How many worker pods. `reprise run` uses one process whatever this says.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 1, max = 1000), extend("format" = "int32"))]
    pub replicas: NonZeroU16,
}

fn one_replica() -> NonZeroU16 {
    NonZeroU16::MIN
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            replicas: one_replica(),
        }
    }
}
