//! Makes request bodies of turns.
//!
//! A [`Template`] holds what the run says about every request: API, model, streaming and output length. Applied to a turn of
//! the content it gives the bytes that go on the wire. Nothing is added to a recorded body that was not asked for.

mod recorded;
mod synthesised;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::store::{BodyRef, Content, TurnRef};

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
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }
}

/// What the run says about every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
#[serde(rename_all = "camelCase")]
pub struct ModelRewrite {
    /// Recorded name → name to send.
    pub mapping: BTreeMap<String, String>,
    /// The name to send for all others.
    pub override_all: Option<String>,
}

impl ModelRewrite {
    fn is_empty(&self) -> bool {
        self.mapping.is_empty() && self.override_all.is_none()
    }

    fn of(&self, recorded: &str) -> Option<&str> {
        self.mapping
            .get(recorded)
            .or(self.override_all.as_ref())
            .map(String::as_str)
    }
}

/// An earlier turn of a conversation, with the answer that it got.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The turn's row in the content.
    pub turn: u32,
    /// The answer's content, escaped for the inside of a JSON string.
    pub answer: Bytes,
}

/// A request body that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Its bytes: JSON.
    pub body: Vec<u8>,
    /// How many output tokens `matchOutputLength` asked for.
    pub matched_output_tokens: Option<u32>,
}

/// The output length that `matchOutputLength` asks for.
#[derive(Clone, Copy)]
struct MatchedOutput {
    tokens: u32,
    /// An engine that may not stop where its grammar ends can crash (vllm#37506), so constrained bodies do without.
    may_ignore_eos: bool,
}

/// A turn that this template cannot make a body of.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TemplateError {
    /// No model for a synthesised body.
    #[error(
        "Cannot make a request of line {line}: its body is synthesised and names no model. Set target.model."
    )]
    NoModel {
        /// The line of the trace.
        line: u32,
    },
    /// A list of messages has no form in this API.
    #[error(
        "Cannot make a request of line {line}: it has messages, which the completions API does not take. Set target.api: chat."
    )]
    MessagesNeedChat {
        /// The line of the trace.
        line: u32,
    },
}

impl Template {
    /// Checks that every turn can be made a body of, without making any.
    ///
    /// # Errors
    /// The first turn that cannot.
    pub fn check(&self, content: &Content) -> Result<(), TemplateError> {
        content.turns().try_for_each(|turn| self.check_turn(turn))
    }

    fn check_turn(&self, turn: TurnRef<'_>) -> Result<(), TemplateError> {
        let line = turn.line();
        match turn.body() {
            BodyRef::Recorded { .. } => Ok(()),
            BodyRef::Messages { .. } if self.api == Api::Completions => {
                Err(TemplateError::MessagesNeedChat { line })
            }
            BodyRef::Messages { extra, .. } | BodyRef::Prompt { extra, .. } => {
                let names_model = self.model.is_some() || synthesised::member_names(extra).contains("model");
                if names_model {
                    Ok(())
                } else {
                    Err(TemplateError::NoModel { line })
                }
            }
        }
    }

    fn matched_output(&self, turn: TurnRef<'_>) -> Option<MatchedOutput> {
        let tokens = turn.output_tokens().filter(|_| self.match_output_length)?;
        Some(MatchedOutput {
            tokens,
            may_ignore_eos: !turn.is_constrained(),
        })
    }

    /// Makes the body of the turn in row `turn`. `earlier` holds the turns of its conversation that were answered live, in
    /// order; it matters only for [`crate::Body::Prompt`].
    #[must_use]
    pub fn render(&self, content: &Content, turn: u32, earlier: &[Exchange]) -> Rendered {
        let turn = content.turn(turn);
        match turn.body() {
            BodyRef::Recorded { pieces } => recorded::render(self, pieces, self.matched_output(turn)),
            BodyRef::Messages { messages, extra } => synthesised::render(self, turn, extra, |body| {
                synthesised::append_pieces(content.corpus(), messages, body);
            }),
            BodyRef::Prompt { extra, .. } => synthesised::render(self, turn, extra, |body| match self.api {
                Api::Chat => synthesised::append_chat(content, earlier, turn, body),
                Api::Completions => synthesised::append_prompt(content, earlier, turn, body),
            }),
        }
    }
}

/// Escapes `text` for the inside of a JSON string.
fn escape(text: &str) -> Bytes {
    let quoted = Bytes::from(serde_json::Value::from(text).to_string());
    quoted.slice(1..quoted.len() - 1)
}

fn json_string(text: &str, body: &mut Vec<u8>) {
    body.push(b'"');
    body.extend_from_slice(&escape(text));
    body.push(b'"');
}

/// Bytes to reserve for a body, so that appending rarely moves it: a word and its space are about 7 bytes.
fn size_hint(turn: TurnRef<'_>) -> usize {
    256 + turn.input_tokens().unwrap_or_default() as usize * 7
}

#[cfg(test)]
mod tests;
