//! Recorded request bodies: the very bytes, cut where the template may put something else.

use bytes::Bytes;
use reprise_content::{Absent, Body, Piece, Slot};

use crate::facts::DatasetWarning;
use crate::json::{self, JsonError, Kind, Members};

/// A recorded body, cut at the values that the template may replace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordedBody {
    pieces: Vec<Piece>,
    is_constrained: bool,
    /// Whether it has a `model` that is something other than a string. It stays as recorded.
    has_odd_model: bool,
    /// Whether it has both `max_tokens` and `max_completion_tokens`. Only the latter can be replaced.
    has_two_token_limits: bool,
}

impl RecordedBody {
    /// Cuts the JSON object that `body` holds.
    pub(crate) fn cut(body: &str) -> Result<Self, JsonError> {
        Ok(Self::cut_members(body, &Members::parse(body)?))
    }

    /// As [`Self::cut`], for one whose members were read from `body` already.
    pub(crate) fn cut_members(body: &str, members: &Members<'_>) -> Self {
        let has = |key| members.get(key).is_some();
        let has_two_token_limits = has("max_tokens") && has("max_completion_tokens");
        let mut cutter = Cutter::new(body);
        for member in members.iter() {
            let slot: fn(Bytes) -> Slot = match member.key.as_ref() {
                "model" if Kind::of(member.value) == Kind::String => Slot::Model,
                "max_completion_tokens" => Slot::MaxTokens,
                "max_tokens" if !has_two_token_limits => Slot::MaxTokens,
                "ignore_eos" => Slot::IgnoreEos,
                _ => continue,
            };
            cutter.slot(member.value, slot);
        }
        let absent = Absent {
            is_empty_object: members.is_empty(),
            max_tokens: !has("max_tokens") && !has("max_completion_tokens"),
            ignore_eos: !has("ignore_eos"),
            stream: !has("stream"),
        };
        Self {
            pieces: cutter.finish(absent),
            is_constrained: is_constrained(members),
            has_odd_model: members
                .get("model")
                .is_some_and(|model| Kind::of(model) != Kind::String),
            has_two_token_limits,
        }
    }

    /// Whether a grammar constrains decoding.
    pub(crate) fn is_constrained(&self) -> bool {
        self.is_constrained
    }

    pub(crate) fn into_body(self) -> Body {
        Body::Recorded { pieces: self.pieces }
    }
}

/// Counts what is odd about the recorded bodies of a trace.
#[derive(Debug, Default)]
pub(crate) struct Oddities {
    odd_models: u64,
    two_token_limits: u64,
}

impl Oddities {
    /// The body that a turn says, once what is odd about it is counted.
    pub(crate) fn count(&mut self, recorded: RecordedBody) -> Body {
        self.odd_models += u64::from(recorded.has_odd_model);
        self.two_token_limits += u64::from(recorded.has_two_token_limits);
        recorded.into_body()
    }

    pub(crate) fn warnings(&self) -> impl Iterator<Item = DatasetWarning> {
        let (models, limits) = (self.odd_models, self.two_token_limits);
        let models = (models > 0).then_some(DatasetWarning::ModelsNotText { records: models });
        let limits = (limits > 0).then_some(DatasetWarning::TwoTokenLimits { records: limits });
        models.into_iter().chain(limits)
    }
}

/// Cuts one text into pieces that share its bytes.
struct Cutter<'a> {
    text: &'a str,
    bytes: Bytes,
    done: usize,
    pieces: Vec<Piece>,
}

impl<'a> Cutter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            done: 0,
            pieces: Vec::with_capacity(8),
        }
    }

    /// Makes a slot of `value`, which is a slice of the text.
    fn slot(&mut self, value: &str, slot: fn(Bytes) -> Slot) {
        let place = json::place(value, self.text);
        self.literal_until(place.start);
        self.pieces
            .push(Piece::Slot(slot(self.bytes.slice(place.clone()))));
        self.done = place.end;
    }

    fn literal_until(&mut self, end: usize) {
        if self.done < end {
            self.pieces.push(Piece::Literal(self.bytes.slice(self.done..end)));
        }
        self.done = end;
    }

    fn finish(mut self, absent: Absent) -> Vec<Piece> {
        // The text is one JSON object, so its last brace is the closing one.
        let brace = self.text.rfind('}').unwrap_or(self.text.len());
        self.literal_until(brace);
        self.pieces.push(Piece::Slot(Slot::Tail(absent)));
        self.literal_until(self.text.len());
        self.pieces
    }
}

/// Members that make an engine decode by a grammar, wherever they hold anything: vLLM's `structured_outputs` and older
/// `guided_*`, `SGLang`'s `json_schema`, `regex`, `ebnf` and `structural_tag`, llama.cpp's `grammar`.
const GRAMMARS: [&str; 12] = [
    "ebnf",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_structural_tag",
    "json_schema",
    "regex",
    "structural_tag",
    "structured_outputs",
];

/// Whether decoding is constrained by a grammar, so that the engine cannot go on where the grammar ends.
pub(crate) fn is_constrained(members: &Members<'_>) -> bool {
    members.iter().any(|member| match member.key.as_ref() {
        "response_format" => is_grammar_format(member.value),
        "text" => object(member.value)
            .and_then(|text| text.get_non_null("format"))
            .is_some_and(is_grammar_format),
        "tool_choice" => is_forced(member.value) && has_tools(members),
        // SGLang's own API keeps its fields one level down.
        "sampling_params" => object(member.value).is_some_and(|params| has_grammar(&params)),
        _ => false,
    }) || has_grammar(members)
}

fn has_grammar(members: &Members<'_>) -> bool {
    members.iter().any(|member| {
        GRAMMARS.contains(&member.key.as_ref()) && !matches!(member.value, "null" | "false" | "\"\"")
    })
}

/// Every type but plain text is a grammar.
fn is_grammar_format(value: &str) -> bool {
    object(value)
        .and_then(|format| format.get_non_null("type"))
        .and_then(json::string)
        .is_some_and(|kind| kind != "text")
}

fn is_forced(tool_choice: &str) -> bool {
    match Kind::of(tool_choice) {
        Kind::Null => false,
        Kind::String => !matches!(json::string(tool_choice).as_deref(), Some("none" | "auto")),
        _ => true,
    }
}

fn has_tools(members: &Members<'_>) -> bool {
    members
        .get("tools")
        .and_then(json::list)
        .is_some_and(|tools| !tools.is_empty())
}

fn object(value: &str) -> Option<Members<'_>> {
    Members::parse(value).ok()
}

#[cfg(test)]
mod tests;
