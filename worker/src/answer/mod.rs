//! Reads an answer as it arrives: a stream of events, or one JSON body.

mod message;
mod sse;

use reprise_contract::{FailureCause, Gaps};

pub(crate) use message::refusal_text;
use message::{Message, Text, Usage};
use sse::{Event, EventReader};

/// The most bytes that are read of a body that is not a stream.
const MAX_BODY_BYTES: usize = 64 << 20;
/// The most characters of a server's words that are kept.
const MAX_ERROR_CHARS: usize = 200;

/// Something that makes the answer a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) cause: FailureCause,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(cause: FailureCause, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            cause,
            message: message.chars().take(MAX_ERROR_CHARS).collect(),
        }
    }
}

/// What an answer said, and when, in nanoseconds since T0.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) first_output: Option<i64>,
    pub(crate) first_content: Option<i64>,
    pub(crate) last_output: Option<i64>,
    pub(crate) usage_at: Option<i64>,
    pub(crate) usage: Option<Usage>,
    pub(crate) is_stream: bool,
    /// It bore output of any kind.
    pub(crate) has_output: bool,
    /// Chunks of a stream that bore output.
    pub(crate) output_chunks: u32,
    pub(crate) gaps: Gaps,
    /// Each gap between these chunks, for the histogram.
    pub(crate) gaps_ns: Vec<u64>,
    /// The content of the first choice, escaped for the inside of a JSON string; only where it was asked for.
    pub(crate) text: String,
    /// Some of that content is no string, so the text is not all there is.
    pub(crate) has_other_content: bool,
}

/// Reads an answer as it arrives.
pub(crate) struct AnswerReader {
    form: Form,
    keep_text: bool,
    /// A choice said why it ended.
    has_finish_reason: bool,
    /// The stream said `[DONE]`.
    is_done: bool,
    fault: Option<Fault>,
    heard: Heard,
}

enum Form {
    Stream(EventReader),
    Body(Vec<u8>),
}

impl AnswerReader {
    /// A reader for an answer whose `Content-Type` says whether it is a stream.
    pub(crate) fn new(is_stream: bool, keep_text: bool) -> Self {
        let form = if is_stream {
            Form::Stream(EventReader::default())
        } else {
            Form::Body(Vec::new())
        };
        let heard = Heard {
            is_stream,
            ..Heard::default()
        };
        Self {
            form,
            keep_text,
            has_finish_reason: false,
            is_done: false,
            fault: None,
            heard,
        }
    }

    /// Reads bytes that arrived at `at`.
    pub(crate) fn push(&mut self, bytes: &[u8], at: i64) -> Result<(), Fault> {
        match &mut self.form {
            Form::Body(body) => {
                if body.len() + bytes.len() > MAX_BODY_BYTES {
                    return Err(too_large(MAX_BODY_BYTES));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Form::Stream(reader) => {
                let mut reader = std::mem::take(reader);
                let read = reader.push(bytes, |event| self.hear_event(&event, at));
                self.form = Form::Stream(reader);
                read.map_err(|_| too_large(sse::MAX_EVENT_BYTES))?;
                self.fault.take().map_or(Ok(()), Err)
            }
        }
    }

    /// Ends the answer at `at`, when the connection says that it is complete.
    pub(crate) fn finish(&mut self, at: i64) -> Result<(), Fault> {
        match std::mem::replace(&mut self.form, Form::Body(Vec::new())) {
            Form::Stream(mut reader) => {
                reader.finish(|event| self.hear_event(&event, at));
                // What looks wrong in an event that the end cut off says nothing but that it was cut off.
                let is_cut_off = |fault: &Fault| fault.cause == FailureCause::InvalidAnswer;
                let is_finished = self.is_done || self.has_finish_reason;
                if !is_finished && self.fault.as_ref().is_none_or(is_cut_off) {
                    let message = "the stream ended without [DONE] or a finish_reason";
                    return Err(Fault::new(FailureCause::ConnectionClosed, message));
                }
            }
            Form::Body(body) => self.hear_json(&body, at),
        }
        if !self.has_finish_reason && !self.heard.has_output {
            let message = "the answer has neither output nor a finish_reason";
            self.fault
                .get_or_insert(Fault::new(FailureCause::InvalidAnswer, message));
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Whether the stream has said `[DONE]`: nothing more is to come, however the connection ends.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// What was heard so far, complete or not.
    pub(crate) fn into_heard(self) -> Heard {
        self.heard
    }

    fn hear_event(&mut self, event: &Event<'_>, at: i64) {
        // What comes after a fault is not heard, wherever network reads end.
        if self.fault.is_some() {
            return;
        }
        let data = event.data.trim_ascii();
        if event.kind == b"error" {
            self.fault.get_or_insert_with(|| {
                Fault::new(FailureCause::ErrorInAnswer, message::error_event_text(data))
            });
        } else if data == b"[DONE]" {
            self.is_done = true;
        } else if !data.is_empty() {
            self.hear_json(event.data, at);
        }
    }

    fn hear_json(&mut self, json: &[u8], at: i64) {
        match message::read(json) {
            Ok(message) => self.hear(message, at),
            Err(error) => {
                let text = format!("the answer is not the JSON it should be: {error}");
                self.fault
                    .get_or_insert(Fault::new(FailureCause::InvalidAnswer, text));
            }
        }
    }

    fn hear(&mut self, message: Message, at: i64) {
        if let Some(error) = message.error {
            self.fault
                .get_or_insert(Fault::new(FailureCause::ErrorInAnswer, error));
        }
        if let Some(usage) = message.usage {
            self.heard.usage = Some(usage);
            self.heard.usage_at = Some(at);
        }
        self.has_finish_reason |= message.is_finished;
        self.heard.has_output |= message.has_output;
        match message.text {
            Some(Text::Escaped(text)) if self.keep_text => self.heard.text.push_str(&text),
            Some(Text::Other) => self.heard.has_other_content = true,
            _ => {}
        }
        if self.heard.is_stream && message.has_output {
            self.hear_output(at);
            if message.has_content {
                self.heard.first_content.get_or_insert(at);
            }
        }
    }

    fn hear_output(&mut self, at: i64) {
        let heard = &mut self.heard;
        if let Some(last) = heard.last_output {
            let gap_ns = at.saturating_sub(last).max(0).unsigned_abs();
            heard.gaps.record(gap_ns);
            heard.gaps_ns.push(gap_ns);
        }
        heard.first_output.get_or_insert(at);
        heard.last_output = Some(at);
        heard.output_chunks += 1;
    }
}

fn too_large(limit: usize) -> Fault {
    Fault::new(
        FailureCause::AnswerTooLarge,
        format!("more than {} MiB in one event or body", limit >> 20),
    )
}

#[cfg(test)]
mod tests;
