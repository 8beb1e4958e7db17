//! `spec.results`: what is kept of a run, and where.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::forbid_null;
use crate::duration::{TimeSpan, describe_durations};
use crate::s3_folder::{S3Folder, S3FolderError};

/// What is kept of a run, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations)]
pub struct Results {
    /// Whether every request's outcome is written (outcomes.parquet) beside the summary.
    #[serde(default = "per_request_by_default")]
    pub per_request: bool,
    /// How long the dataset-manager keeps the result to be read before it ends, unless a reader says that it has it.
    /// At most 24h; with 0s it ends at once.
    #[serde(default = "default_hold")]
    pub hold: TimeSpan,
    /// A store that speaks S3, where the files of the result are put as well. Its credentials come from the variables
    /// `REPRISE_RESULTS_AWS_ACCESS_KEY_ID`, `REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY` and, for temporary ones,
    /// `REPRISE_RESULTS_AWS_SESSION_TOKEN`; those of the dataset are never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<ResultsS3>,
}

/// A store that speaks S3, for results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null)]
pub struct ResultsS3 {
    /// The folder for results, such as `s3://perf-results/chat/`. Each attempt has a folder of its own in it:
    /// `<name>/<first 8 digits of the UID>-<attempt>/`. Nothing that is there is overwritten.
    #[schemars(length(min = 1, max = 1024))]
    pub url: String,
    /// The URL of the store, such as `https://minio.internal:9000`. Unless given, AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub endpoint: Option<String>,
    /// The region of the bucket, such as `eu-central-1`. Unless given, `us-east-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub region: Option<String>,
    /// Whether the bucket stands in the path of a request and not in its host name. Unless given, it does where `endpoint`
    /// is given and is not one of AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_style: Option<bool>,
}

impl ResultsS3 {
    /// The folder that `url` names.
    ///
    /// # Errors
    /// When it names none; a spec that [`crate::validate()`] found right has one.
    pub fn folder(&self) -> Result<S3Folder, S3FolderError> {
        self.url.parse()
    }
}

fn per_request_by_default() -> bool {
    true
}

fn default_hold() -> TimeSpan {
    TimeSpan::from(Duration::from_mins(10))
}

impl Default for Results {
    fn default() -> Self {
        Self {
            per_request: per_request_by_default(),
            hold: default_hold(),
            s3: None,
        }
    }
}
