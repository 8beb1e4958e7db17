//! `spec.dataset`: which trace, and how to read it.

use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;
use crate::duration::{TimeSpan, describe_durations};

/// The trace to replay and how to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations)]
pub struct Dataset {
    /// A reference to the trace: hf://, s3://, https:// or http://, or a local path.
    #[schemars(length(min = 1, max = 4096))]
    pub source: String,
    /// The trace format. Needed unless the trace's manifest or sidecar declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// The exact version of the trace, as results and `reprise pin` write it. Unless given, the newest version is used and
    /// recorded. When it is no longer there, the run fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub version: Option<String>,
    /// Options of the trace format. One that the format does not take is refused.
    #[serde(default)]
    pub options: DatasetOptions,
    /// A reference to the tokenizer of the target's model. `hf://` names a model unless it says otherwise. It is pinned,
    /// fetched and recorded like the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub tokenizer: Option<String>,
    /// Where s3:// references lead. Without it they lead to AWS, or where the environment says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Location>,
    /// How long the dataset may take to become ready: finding its version, download, verification and building. More than 0s,
    /// at most 24h. The dataset-manager ends by itself shortly before it is used up, and says how far it came. Unless given,
    /// 1h; `reprise run` in one process takes the time it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_budget: Option<TimeSpan>,
}

/// A store that speaks S3.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct S3Location {
    /// The URL of the store, such as `https://minio.internal:9000`. Unless given, AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub endpoint: Option<String>,
    /// The region of the bucket, such as `eu-central-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub region: Option<String>,
    /// Whether the bucket stands in the path of a request and not in its host name. Unless given, it does where `endpoint`
    /// is given and is not one of AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_style: Option<bool>,
}

/// The trace formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// Lengths, shared-prefix hash ids and arrival times, or recorded prompts and messages, one JSON object a line.
    MooncakeTrace,
    /// Recorded request bodies with their arrival times, one JSON object a line.
    WorkloadTrace,
}

impl TraceFormat {
    /// Every format, in the order in which they are listed to people.
    pub const ALL: [Self; 2] = [Self::MooncakeTrace, Self::WorkloadTrace];

    /// The name as it is written in a spec.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MooncakeTrace => "mooncake_trace",
            Self::WorkloadTrace => "workload_trace",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The options of all trace formats in one struct. `None` leaves the format's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct DatasetOptions {
    /// Tokens that one hash id stands for. Taken by `mooncake_trace`, where it is 512 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_048_576), extend("format" = "int32"))]
    pub block_size: Option<NonZeroU32>,
    /// What a number in the timestamp and delay columns means. Unless given, it is ms in `mooncake_trace` and s in `workload_trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_unit: Option<TimestampUnit>,
    /// Names of recorded credential headers to send all the same; those not named here are dropped. Taken by
    /// `workload_trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub keep_headers: Vec<String>,
    /// What to do about a column that the format does not know.
    #[serde(default)]
    pub unknown_columns: UnknownColumns,
}

/// The unit of a number in the timestamp and delay columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TimestampUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

/// What to do about a column that the trace format does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UnknownColumns {
    /// Refuse the trace and name the column.
    #[default]
    Refuse,
    /// Read on without it.
    Ignore,
}
