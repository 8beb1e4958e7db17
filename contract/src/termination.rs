//! What a process of a run leaves as its pod's termination message: at most 4,096 bytes of JSON, which Kubernetes keeps.

mod reason;

use serde::{Deserialize, Serialize};

use crate::Summary;
use crate::summary::Verdict;

pub use reason::Reason;

/// The longest message that Kubernetes keeps, in bytes.
pub const MAX_BYTES: usize = 4096;
/// The longest reference, in bytes of JSON.
const MAX_REFERENCE_BYTES: usize = 1024;
/// The longest version, in bytes of JSON.
const MAX_VERSION_BYTES: usize = 512;
/// Ends a text that was cut.
const ELLIPSIS: char = '…';

/// How a process of a run ended, for the operator and for people. Holds no credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminationMessage {
    /// Which process.
    pub kind: Process,
    /// How it ended, for programs.
    pub reason: Reason,
    /// How it ended, for people: what went wrong and how to fix it.
    pub message: String,
    /// The reference to the trace, credentials redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The exact version of the trace, once it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What was measured, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Headline>,
}

/// A process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// The dataset-manager.
    DatasetManager,
    /// A worker.
    Worker,
}

/// The numbers of a run that are told first. Percentiles are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Headline {
    /// How the run ended.
    pub verdict: Verdict,
    /// Requests of the plan.
    pub planned: u64,
    /// Measured requests that were sent.
    pub sent: u64,
    /// Of those, completed.
    pub completed: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Measured requests that were dropped.
    pub dropped: u64,
    /// Measured requests that never went.
    pub not_sent: u64,
    /// Requests of which no outcome is known.
    pub unknown: u64,
    /// Median of the time to first token.
    pub ttft_p50_ms: Option<f64>,
    /// 99th percentile of it.
    pub ttft_p99_ms: Option<f64>,
    /// Median of the request latency.
    pub request_latency_p50_ms: Option<f64>,
    /// 99th percentile of it.
    pub request_latency_p99_ms: Option<f64>,
    /// Completed requests a second.
    pub requests_per_second: Option<f64>,
    /// Output tokens a second.
    pub output_tokens_per_second: Option<f64>,
    /// The greatest lag.
    pub lag_max_ms: Option<f64>,
    /// The share (0 to 1) of requests that met every limit of `slo`.
    pub good_share: Option<f64>,
}

impl Headline {
    /// The headline of a result.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let counts = &summary.counts;
        let metrics = summary.metrics.as_ref();
        let ttft = metrics.and_then(|metrics| metrics.ttft_ms.as_ref());
        let latency = metrics.and_then(|metrics| metrics.request_latency_ms.as_ref());
        let throughput = summary.throughput.as_ref();
        Self {
            verdict: summary.verdict,
            planned: counts.planned,
            sent: counts.sent,
            completed: counts.completed,
            failed: counts.failed,
            dropped: counts.dropped,
            not_sent: counts.not_sent,
            unknown: counts.unknown,
            ttft_p50_ms: ttft.map(|ttft| ttft.percentiles.p50),
            ttft_p99_ms: ttft.map(|ttft| ttft.percentiles.p99),
            request_latency_p50_ms: latency.map(|latency| latency.percentiles.p50),
            request_latency_p99_ms: latency.map(|latency| latency.percentiles.p99),
            requests_per_second: throughput.map(|throughput| throughput.requests_per_second),
            output_tokens_per_second: throughput.map(|throughput| throughput.output_tokens_per_second),
            lag_max_ms: summary.lag.as_ref().map(|lag| lag.max_ms),
            good_share: summary.slo.as_ref().map(|slo| slo.good_share),
        }
    }
}

impl TerminationMessage {
    /// A message of a process that knows nothing of a trace.
    #[must_use]
    pub fn new(kind: Process, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            kind,
            reason,
            message: message.into(),
            reference: None,
            version: None,
            numbers: None,
        }
    }

    /// JSON of at most [`MAX_BYTES`] bytes. Texts are cut where it would be longer, the message last; everything else stays.
    ///
    /// # Errors
    /// None in practice: a message is made of what JSON can hold.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut fitting = self.clone();
        cut(&mut fitting.reference, MAX_REFERENCE_BYTES);
        cut(&mut fitting.version, MAX_VERSION_BYTES);
        fitting.message.clear();
        let room = MAX_BYTES.saturating_sub(serde_json::to_string(&fitting)?.len());
        fitting.message = start_of(&self.message, room);
        serde_json::to_string(&fitting)
    }
}

fn cut(text: &mut Option<String>, room: usize) {
    if let Some(text) = text {
        *text = start_of(text, room);
    }
}

/// As much of the text as takes at most `room` bytes inside a JSON string.
fn start_of(text: &str, room: usize) -> String {
    let mut used = 0;
    let mut end = 0;
    for (index, character) in text.char_indices() {
        used += json_bytes(character);
        if used > room {
            let mut start = text[..end].to_owned();
            // Too little room even for the mark that something is missing leaves nothing.
            if room >= ELLIPSIS.len_utf8() {
                start.push(ELLIPSIS);
            }
            return start;
        }
        if used + ELLIPSIS.len_utf8() <= room {
            end = index + character.len_utf8();
        }
    }
    text.to_owned()
}

/// Bytes of a character inside a JSON string, as `serde_json` writes it.
fn json_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        character if character < ' ' => 6,
        character => character.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headline(number: u64, value: f64) -> Headline {
        Headline {
            verdict: Verdict::Succeeded,
            planned: number,
            sent: number,
            completed: number,
            failed: number,
            dropped: number,
            not_sent: number,
            unknown: number,
            ttft_p50_ms: Some(value),
            ttft_p99_ms: Some(value),
            request_latency_p50_ms: Some(value),
            request_latency_p99_ms: Some(value),
            requests_per_second: Some(value),
            output_tokens_per_second: Some(value),
            lag_max_ms: Some(value),
            good_share: Some(value),
        }
    }

    #[test]
    fn a_short_message_is_whole() {
        let message = TerminationMessage {
            reference: Some("hf://acme/traces".to_owned()),
            version: Some("3e1f0c".to_owned()),
            numbers: Some(headline(12_031, 41.5)),
            ..TerminationMessage::new(Process::DatasetManager, Reason::Succeeded, "12,031 requests")
        };
        let json = message.to_json().unwrap();
        insta::assert_snapshot!(json);
        assert_eq!(
            serde_json::from_str::<TerminationMessage>(&json).unwrap(),
            message
        );
    }

    #[test]
    fn a_long_message_ends_with_a_mark_and_fills_the_room() {
        let message = TerminationMessage::new(Process::Worker, Reason::Internal, "é\"".repeat(4096));
        let json = message.to_json().unwrap();
        assert!(
            (MAX_BYTES - 8..=MAX_BYTES).contains(&json.len()),
            "{}",
            json.len()
        );
        let read: TerminationMessage = serde_json::from_str(&json).unwrap();
        assert!(read.message.starts_with("é\"é\"") && read.message.ends_with('…'));
    }

    proptest! {
        #[test]
        fn whatever_the_texts_it_fits_and_reads_back(
            message in "\\PC{0,5000}|[\u{0}-\u{1f}\"\\\\]{0,3000}",
            reference in proptest::option::of("(?s).{0,5000}"),
            version in proptest::option::of("(?s).{0,2000}"),
            number in any::<u64>(),
            value in any::<f64>().prop_filter("JSON has no others", |value| value.is_finite()),
            has_numbers in any::<bool>(),
        ) {
            let written = TerminationMessage {
                reference,
                version,
                numbers: has_numbers.then(|| headline(number, value)),
                ..TerminationMessage::new(Process::DatasetManager, Reason::DatasetUnavailable, message)
            };
            let json = written.to_json().unwrap();
            prop_assert!(json.len() <= MAX_BYTES, "{}", json.len());
            let read: TerminationMessage = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read.reason, written.reason);
            prop_assert!(read.message == written.message || read.message.ends_with('…'));
            prop_assert!(written.message.starts_with(read.message.trim_end_matches('…')));
            prop_assert_eq!(read.reference.is_some(), written.reference.is_some());
            prop_assert_eq!(read.numbers.is_some(), written.numbers.is_some());
        }
    }
}
