//! Bodies that are made from a prompt or from messages.

use std::collections::{BTreeSet, HashMap};

use serde_json::value::RawValue;

use super::{Api, Exchange, Rendered, Template, json_string, matched_output, size_hint};
use crate::corpus::Corpus;
use crate::store::{BodyRef, Content, PieceRef, Pieces, TurnRef};

/// The names under which servers take a limit on output tokens.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Makes the body: the members that the template gives, unless `extra` has one of the same name, then `extra`.
pub(super) fn render(
    template: &Template,
    turn: TurnRef<'_>,
    extra: Option<&[u8]>,
    append_input: impl FnOnce(&mut Vec<u8>),
) -> Rendered {
    let overridden = member_names(extra);
    let mut members = Members {
        body: Vec::with_capacity(size_hint(turn)),
        overridden: &overridden,
    };
    if let Some(model) = &template.model {
        members.append("model", |body| json_string(model, body));
    }
    let input = match template.api {
        Api::Chat => "messages",
        Api::Completions => "prompt",
    };
    members.append(input, append_input);
    if template.streaming.unwrap_or(true) && !overridden.contains("stream") {
        members.append("stream", |body| body.extend_from_slice(b"true"));
        members.append("stream_options", |body| {
            body.extend_from_slice(br#"{"include_usage":true}"#);
        });
    }
    // A trace's output length is the longest answer that the recorded request allowed or got: it always limits, unless the
    // record says otherwise in either of the names that servers know.
    let limits_itself = LIMITS.iter().any(|limit| overridden.contains(*limit));
    if let Some(tokens) = turn.output_tokens().filter(|_| !limits_itself) {
        members.append("max_tokens", |body| {
            body.extend_from_slice(tokens.to_string().as_bytes());
        });
    }
    let output = matched_output(template, turn).filter(|_| !limits_itself);
    if output.is_some_and(|output| output.may_ignore_eos) {
        members.append("ignore_eos", |body| body.extend_from_slice(b"true"));
    }
    let mut body = members.body;
    if let Some(extra) = extra {
        body.push(if body.is_empty() { b'{' } else { b',' });
        body.extend_from_slice(extra);
    }
    body.push(b'}');
    Rendered {
        body,
        matched_output_tokens: output.map(|output| output.tokens),
    }
}

/// A JSON object in the making.
struct Members<'a> {
    body: Vec<u8>,
    overridden: &'a BTreeSet<String>,
}

impl Members<'_> {
    fn append(&mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        if self.overridden.contains(name) {
            return;
        }
        self.body.push(if self.body.is_empty() { b'{' } else { b',' });
        json_string(name, &mut self.body);
        self.body.push(b':');
        value(&mut self.body);
    }
}

/// The names of the members that `extra` has. Formats give only what parses; anything else names none.
pub(super) fn member_names(extra: Option<&[u8]>) -> BTreeSet<String> {
    let Some(extra) = extra else {
        return BTreeSet::new();
    };
    let object = [b"{", extra, b"}"].concat();
    serde_json::from_slice::<HashMap<String, &RawValue>>(&object)
        .map(|members| members.into_keys().collect())
        .unwrap_or_default()
}

/// The conversation so far as an array of messages: the earlier turns with their live answers, then this turn.
pub(super) fn append_chat(content: &Content, earlier: &[Exchange], turn: TurnRef<'_>, body: &mut Vec<u8>) {
    body.push(b'[');
    for exchange in earlier {
        append_message(content, content.turn(exchange.turn), body);
        body.extend_from_slice(br#",{"role":"assistant","content":""#);
        body.extend_from_slice(&exchange.answer);
        body.extend_from_slice(br#""},"#);
    }
    append_message(content, turn, body);
    body.push(b']');
}

fn append_message(content: &Content, turn: TurnRef<'_>, body: &mut Vec<u8>) {
    body.extend_from_slice(br#"{"role":"user","content":""#);
    append_words(content, turn, body);
    body.extend_from_slice(br#""}"#);
}

/// The conversation so far as one string: turns and answers one after the other, so that each prompt begins with the one
/// before it.
pub(super) fn append_prompt(content: &Content, earlier: &[Exchange], turn: TurnRef<'_>, body: &mut Vec<u8>) {
    body.push(b'"');
    for exchange in earlier {
        append_words(content, content.turn(exchange.turn), body);
        body.extend_from_slice(&exchange.answer);
    }
    append_words(content, turn, body);
    body.push(b'"');
}

/// The words of one turn. Corpus text begins with a space, which a text does not need before its first word.
fn append_words(content: &Content, turn: TurnRef<'_>, body: &mut Vec<u8>) {
    let BodyRef::Prompt { pieces, .. } = turn.body() else {
        return;
    };
    let start = body.len();
    let begins_with_corpus = matches!(pieces.clone().next(), Some(PieceRef::Corpus { .. }));
    append_pieces(content.corpus(), pieces, body);
    if begins_with_corpus {
        body.remove(start);
    }
}

/// Appends corpus text and literals.
pub(super) fn append_pieces(corpus: &Corpus, pieces: Pieces<'_>, body: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            PieceRef::Corpus { id, tokens } => corpus.append(id, tokens, body),
            PieceRef::Literal(bytes) => body.extend_from_slice(bytes),
            // Only recorded bodies have slots.
            PieceRef::Slot(_) => {}
        }
    }
}
