//! `spec.target`: where requests go, and what is filled into them.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::absent::forbid_null;
use crate::duration::{TimeSpan, describe_durations};

/// The endpoint that receives the requests, and what is filled into them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = forbid_null, transform = describe_durations)]
pub struct Target {
    /// Base URLs of the endpoint (http or https, without user names and other credentials). A URL with a path is used as it is; requests are
    /// spread over several.
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 2048)))]
    pub urls: Vec<String>,
    /// The API that the endpoint speaks.
    #[serde(default)]
    pub api: Api,
    /// The model named in synthesised bodies, required for these. It never changes a recorded body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub model: Option<String>,
    /// Replaces the model of every recorded body that names one. A hit in `modelMapping` wins over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub model_override: Option<String>,
    /// Replaces single models of recorded bodies: recorded name to sent name. A body without a model stays without.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256), transform = bounded_values::<512>)]
    pub model_mapping: BTreeMap<String, String>,
    /// Whether answers are streamed. Synthesised bodies ask for streaming unless this is false. A recorded body keeps
    /// its own `stream`; where it has none, it is filled only when this field is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Headers added to every request. Names of credential headers are refused here, since this spec is no place for
    /// secrets; so are those that the connection sets, and those that say how bodies are compressed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64), transform = bounded_values::<8192>)]
    pub headers: BTreeMap<String, String>,
    /// How long one request may take, from sending to the end of its answer. More than 0s.
    #[serde(default = "default_timeout")]
    pub timeout: TimeSpan,
}

/// Bounds the texts in a map.
fn bounded_values<const MAX_LENGTH: usize>(map: &mut Schema) {
    if let Some(values) = map.get_mut("additionalProperties").and_then(Value::as_object_mut) {
        values.insert("maxLength".to_owned(), MAX_LENGTH.into());
    }
}

fn default_timeout() -> TimeSpan {
    TimeSpan::from(Duration::from_mins(10))
}

/// The API that the endpoint speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// OpenAI chat completions.
    #[default]
    Chat,
    /// OpenAI completions (a prompt, no messages).
    Completions,
    /// OpenAI responses. Not supported yet.
    Responses,
    /// Embeddings. Not supported yet.
    Embeddings,
    /// Reranking. Not supported yet.
    Rerank,
    /// The recorded body as it is, to the URL as it is. Not supported yet.
    Raw,
}
