//! What was chosen, by whom and with which digests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was chosen, by whom and with which digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The version of Reprise.
    pub reprise_version: String,
    /// The trace and what was made of it.
    pub dataset: DatasetProvenance,
    /// The schedule.
    pub schedule: ScheduleProvenance,
    /// Where it was sent.
    pub target: TargetProvenance,
    /// The machine that sent it.
    pub host: Host,
}

/// The trace and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetProvenance {
    /// What the user wrote, credentials redacted.
    pub reference: String,
    /// The version, pinned and canonical, of a trace that was fetched; `None` of one on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// The manifest or sidecar that described the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<DatasetFile>,
    /// The tokenizer that the spec names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<TokenizerProvenance>,
    /// Bytes as they are stored at the source.
    pub bytes: u64,
    /// SHA-256 of these bytes, hex.
    pub sha256: String,
    /// How they are compressed: `none`, `gzip` or `zstd`, told by content.
    pub compression: String,
    /// SHA-256 of the decompressed trace, hex.
    pub trace_sha256: String,
    /// The files of a trace that was fetched or is a folder, in the order of reading. Of several files, `sha256` is the
    /// digest of their digests, each on a line of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DatasetFile>,
    /// The trace format.
    pub format: String,
    /// Who chose the format: `spec`, `manifest` or `detected`.
    pub format_chosen_by: String,
    /// Records of the trace.
    pub records: u64,
    /// Sessions of the trace.
    pub sessions: u64,
    /// Digest of the content: equal digests send equal bodies under equal templates.
    pub content_digest: String,
    /// The built-in corpus that prompts were synthesised from; `None` when none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// The seed of synthesised text and of random arrivals.
    pub seed: u64,
}

/// Which version was used, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// The exact version, as `dataset.version` takes it. `None` when the server tells none: what it sends then cannot be
    /// had again for sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who chose the version.
    pub pinned_by: PinnedBy,
    /// The reference that gives exactly this version wherever it is run again, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
}

/// Who chose the version of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PinnedBy {
    /// The reference names it.
    Reference,
    /// `dataset.version` names it.
    Spec,
    /// The run took the newest.
    Run,
    /// The run took the newest that was on this machine already, as it was not to touch the network.
    Cache,
}

/// A tokenizer that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenizerProvenance {
    /// What the user wrote, credentials redacted.
    pub reference: String,
    /// Its version; `None` of one on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Its files, in the order of their names.
    pub files: Vec<DatasetFile>,
}

/// A file of a trace or a tokenizer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetFile {
    /// Its name, with the folders below the one that was named.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of these bytes, hex.
    pub sha256: String,
}

/// The schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleProvenance {
    /// `Recorded`, `Rate` or `Concurrency`: what `Auto` became.
    pub mode: String,
    /// Digest of the schedule: equal digests offer the same load.
    pub hash: String,
    /// Requests in it.
    pub requests: u64,
    /// Records that the window, the limit on requests, or the session they belong to left out.
    pub left_out: u64,
}

/// Where it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetProvenance {
    /// The URLs requests went to.
    pub urls: Vec<String>,
    /// The API.
    pub api: String,
}

/// The machine that sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// Operating system and architecture, such as `linux/x86_64`.
    pub platform: String,
    /// Threads that sent, each with a runtime of its own.
    pub threads: u32,
}
