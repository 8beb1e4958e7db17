//! What the fuzz targets see of the inside; only with the feature `fuzzing`.

use reprise_contract::Gaps;

use crate::answer::{AnswerReader, refusal_text};

/// What was made of an answer. Equal ones were read alike.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it ended, a fault by its words.
    pub result: Result<(), String>,
    /// The content of the first choice.
    pub text: String,
    /// Chunks of a stream that bore output.
    pub output_chunks: u32,
    /// The gaps between them, which are all zero.
    pub gaps: Gaps,
    /// The server's count of prompt and completion tokens.
    pub usage: Option<(Option<u32>, Option<u32>)>,
}

/// Reads `bytes` as the stream of an answer in pieces, all of which arrive at once. `cuts` are the places where pieces end,
/// in ascending order; places beyond the end are left out.
#[must_use]
pub fn stream(bytes: &[u8], cuts: &[usize]) -> Answer {
    read(AnswerReader::new(true, true), bytes, cuts)
}

/// As [`stream`], for an answer that is one body.
#[must_use]
pub fn body(bytes: &[u8], cuts: &[usize]) -> Answer {
    read(AnswerReader::new(false, true), bytes, cuts)
}

/// Reads `bytes` as the body of an answer that is no success, and says its words.
#[must_use]
pub fn refusal(bytes: &[u8]) -> String {
    refusal_text(bytes)
}

fn read(mut reader: AnswerReader, bytes: &[u8], cuts: &[usize]) -> Answer {
    let mut start = 0;
    let mut result = Ok(());
    for end in cuts.iter().copied().chain([bytes.len()]) {
        if let Some(piece) = bytes.get(start..end) {
            start = end;
            result = result.and_then(|()| reader.push(piece, 0));
        }
    }
    let result = result.and_then(|()| reader.finish(0));
    let heard = reader.into_heard();
    Answer {
        result: result.map_err(|fault| format!("{:?}: {}", fault.cause, fault.message)),
        text: heard.text,
        output_chunks: heard.output_chunks,
        gaps: heard.gaps,
        usage: heard
            .usage
            .map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
    }
}
