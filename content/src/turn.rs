//! One request of a session, as a trace has it.
//!
//! A trace format makes [`Turn`]s; [`crate::store::Writer`] keeps them; [`crate::template`] makes request bodies of them.

use bytes::Bytes;

use crate::piece::Piece;

/// One request of a session, in the order of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The session's number: sessions are numbered from 0 in the order in which the trace first names them.
    pub session: u32,
    /// The line (or row) of the trace that it comes from, from 1.
    pub line: u32,
    /// When the trace wanted it, in nanoseconds on the trace's own clock, whatever its zero is.
    pub recorded_ns: Option<i64>,
    /// How long after the end of the session's previous turn the trace wanted it, in nanoseconds. Where `recorded_ns` is
    /// there too, that wins on the recorded schedule.
    pub delay_ns: Option<u64>,
    /// Tokens of the prompt, as recorded: of this turn's own text where the conversation goes on with live answers.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer, as recorded.
    pub output_tokens: Option<u32>,
    /// The trace's own id of the record.
    pub request_id: Option<String>,
    /// Headers of the record, credentials already stripped, in the order of the trace.
    pub headers: Vec<(String, String)>,
    /// Whether decoding is constrained by a grammar (`response_format`, forced tool calls). Such a request never gets
    /// `ignore_eos`: an engine that may not stop where its grammar ends can fail.
    pub is_constrained: bool,
    /// What it says.
    pub body: Body,
}

/// What a turn says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A user's new words. The API decides how they are wrapped; the session's earlier turns and their live answers go
    /// before them.
    Prompt {
        /// The words: corpus text, and literals that are already escaped for the inside of a JSON string.
        pieces: Vec<Piece>,
        /// Members that are merged last into the body, as JSON without the braces (`"top_p":0.9,"stop":["a"]`).
        extra: Option<Bytes>,
    },
    /// A whole conversation, as recorded.
    Messages {
        /// The JSON array of messages, byte for byte.
        messages: Bytes,
        /// As in [`Body::Prompt`]; `tools` are in here.
        extra: Option<Bytes>,
    },
    /// A complete request body, sent as recorded but for its slots.
    Recorded {
        /// The bytes of the body in order: literals and slots.
        pieces: Vec<Piece>,
    },
}
