//! The metrics of one request, each a view on its recorded events, in nanoseconds. `None`: the request has no such value.
//!
//! A value is negative only if events are out of order, which a fault in a clock would cause; whoever collects values
//! counts those.

use reprise_contract::{Outcome, TokenSource};

/// Time to first token.
pub(super) fn ttft(outcome: &Outcome) -> Option<i64> {
    between(outcome.times.sent, outcome.times.first_output)
}

/// Time to first token, from when the schedule wanted the request.
pub(super) fn ttft_from_schedule(outcome: &Outcome) -> Option<i64> {
    between(outcome.times.recorded, outcome.times.first_output)
}

/// Time to the first output that is not reasoning.
pub(super) fn time_to_first_content(outcome: &Outcome) -> Option<i64> {
    between(outcome.times.sent, outcome.times.first_content)
}

/// Time per output token after the first.
pub(super) fn tpot(outcome: &Outcome) -> Option<i64> {
    let generation = between(outcome.times.first_output, outcome.times.last_output)?;
    let later_tokens = i64::from(counted_output_tokens(outcome)?)
        .checked_sub(1)
        .filter(|&later| later > 0)?;
    Some((generation + later_tokens / 2) / later_tokens)
}

/// Request latency.
pub(super) fn latency(outcome: &Outcome) -> Option<i64> {
    between(outcome.times.sent, outcome.times.done)
}

/// Request latency, from when the schedule wanted the request.
pub(super) fn latency_from_schedule(outcome: &Outcome) -> Option<i64> {
    between(outcome.times.recorded, outcome.times.done)
}

/// How long a later turn waited for the one before it.
pub(super) fn dependency_wait(outcome: &Outcome) -> Option<i64> {
    if outcome.turn == 0 {
        None
    } else {
        between(outcome.times.recorded, outcome.times.due)
    }
}

/// How long opening its connection took.
pub(super) fn connect(outcome: &Outcome) -> Option<i64> {
    outcome.connect_ns.and_then(|connect| i64::try_from(connect).ok())
}

/// Input tokens, whoever counted them.
pub(super) fn input_tokens(outcome: &Outcome) -> Option<i64> {
    outcome.input_tokens.map(|tokens| tokens.count.into())
}

/// Output tokens, whoever counted them.
pub(super) fn output_tokens(outcome: &Outcome) -> Option<i64> {
    outcome.output_tokens.map(|tokens| tokens.count.into())
}

/// Output tokens as the server or its chunks tell them; what the trace says about them is no measurement.
pub(super) fn counted_output_tokens(outcome: &Outcome) -> Option<u32> {
    outcome
        .output_tokens
        .filter(|tokens| tokens.source != TokenSource::Trace)
        .map(|tokens| tokens.count)
}

/// Whether nothing of the answer is output: no chunk bore any, and whoever counted found no token. An answer that nobody
/// counted may have output.
pub(super) fn is_without_output(outcome: &Outcome) -> bool {
    outcome.output_chunks == 0 && counted_output_tokens(outcome) == Some(0)
}

/// Output tokens as the server counted them: what a requested length can be checked against.
pub(super) fn served_output_tokens(outcome: &Outcome) -> Option<u32> {
    let by_server = |source| matches!(source, TokenSource::ServerUsage | TokenSource::ServerTotal);
    outcome
        .output_tokens
        .filter(|tokens| by_server(tokens.source))
        .map(|tokens| tokens.count)
}

fn between(start: Option<i64>, end: Option<i64>) -> Option<i64> {
    end?.checked_sub(start?)
}

#[cfg(test)]
mod tests {
    use reprise_contract::outcome::{Times, Tokens};

    use super::*;
    use crate::fixtures;

    #[test]
    fn several_tokens_a_chunk_divide_by_tokens_and_not_by_chunks() {
        let mut outcome = fixtures::outcome(0);
        outcome.output_chunks = 3;
        outcome.output_tokens = Some(Tokens {
            count: 12,
            source: TokenSource::ServerUsage,
        });
        outcome.times.first_output = Some(100);
        outcome.times.last_output = Some(100 + 11 * 7);
        assert_eq!(tpot(&outcome), Some(7));
    }

    #[test]
    fn one_token_has_no_time_per_token() {
        let mut outcome = fixtures::outcome(0);
        for count in [0, 1] {
            outcome.output_tokens = Some(Tokens {
                count,
                source: TokenSource::ServerUsage,
            });
            assert_eq!(tpot(&outcome), None);
        }
        outcome.output_tokens = Some(Tokens {
            count: 9,
            source: TokenSource::Trace,
        });
        assert_eq!(tpot(&outcome), None, "the trace's length is not the answer's");
    }

    #[test]
    fn an_answer_is_without_output_only_when_somebody_counted() {
        let with = |output_chunks, count: Option<(u32, TokenSource)>| Outcome {
            output_chunks,
            output_tokens: count.map(|(count, source)| Tokens { count, source }),
            ..fixtures::unstreamed(0)
        };
        assert!(is_without_output(&with(0, Some((0, TokenSource::ServerUsage)))));
        assert!(is_without_output(&with(0, Some((0, TokenSource::ChunkCount)))));
        let with_output = [
            with(1, Some((0, TokenSource::ServerUsage))),
            with(0, Some((1, TokenSource::ServerTotal))),
            with(0, Some((0, TokenSource::Trace))),
            with(0, None),
        ];
        assert!(!with_output.iter().any(is_without_output));
    }

    #[test]
    fn reasoning_counts_as_first_output_but_not_as_content() {
        let mut outcome = fixtures::outcome(0);
        outcome.times = Times {
            recorded: Some(0),
            sent: Some(10),
            first_chunk: Some(20),
            first_output: Some(50),
            first_content: Some(90),
            ..Times::default()
        };
        assert_eq!(ttft(&outcome), Some(40));
        assert_eq!(ttft_from_schedule(&outcome), Some(50));
        assert_eq!(time_to_first_content(&outcome), Some(80));
    }
}
