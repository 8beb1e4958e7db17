//! Makes request bodies of turns.
//!
//! A [`Template`] holds what the run says about every request: API, model, streaming and output length. [`render`] applies it
//! to a turn of the content, which gives the bytes that go on the wire. Nothing is added to a recorded body that was not asked for.

mod recorded;
mod synthesised;

use bytes::Bytes;
pub use reprise_contract::plan::{Api, ModelRewrite, Template};

use crate::store::{BodyRef, Content, TurnRef};

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

/// Checks that the template can make a body of every turn, without making any.
///
/// # Errors
/// The first turn that it cannot.
pub fn check(template: &Template, content: &Content) -> Result<(), TemplateError> {
    content.turns().try_for_each(|turn| check_turn(template, turn))
}

fn check_turn(template: &Template, turn: TurnRef<'_>) -> Result<(), TemplateError> {
    let line = turn.line();
    match turn.body() {
        BodyRef::Recorded { .. } => Ok(()),
        BodyRef::Messages { .. } if template.api == Api::Completions => {
            Err(TemplateError::MessagesNeedChat { line })
        }
        BodyRef::Messages { extra, .. } | BodyRef::Prompt { extra, .. } => {
            let names_model = template.model.is_some() || synthesised::member_names(extra).contains("model");
            if names_model {
                Ok(())
            } else {
                Err(TemplateError::NoModel { line })
            }
        }
    }
}

/// Makes the body of the turn in row `turn`. `earlier` holds the turns of its conversation that were answered live, in
/// order; it matters only for [`crate::Body::Prompt`].
#[must_use]
pub fn render(template: &Template, content: &Content, turn: u32, earlier: &[Exchange]) -> Rendered {
    let turn = content.turn(turn);
    match turn.body() {
        BodyRef::Recorded { pieces } => recorded::render(template, pieces, matched_output(template, turn)),
        BodyRef::Messages { messages, extra } => synthesised::render(template, turn, extra, |body| {
            synthesised::append_pieces(content.corpus(), messages, body);
        }),
        BodyRef::Prompt { extra, .. } => {
            synthesised::render(template, turn, extra, |body| match template.api {
                Api::Chat => synthesised::append_chat(content, earlier, turn, body),
                Api::Completions => synthesised::append_prompt(content, earlier, turn, body),
            })
        }
    }
}

fn matched_output(template: &Template, turn: TurnRef<'_>) -> Option<MatchedOutput> {
    let tokens = turn.output_tokens().filter(|_| template.match_output_length)?;
    Some(MatchedOutput {
        tokens,
        may_ignore_eos: !turn.is_constrained(),
    })
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
