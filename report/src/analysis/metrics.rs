//! What was measured, over completed requests.

use std::collections::BTreeMap;

use reprise_contract::outcome::Tokens;
use reprise_contract::summary::Metrics;
use reprise_contract::{Ending, Histogram, Outcome, Phase, TokenSource};

use super::distribution::{self, GapTotals, Unit, Values, round};
use super::{AnalyseError, Outcomes, scan, view};

/// What one pass over the outcomes can sum up without keeping values.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The gaps of all requests.
    pub(super) gaps: GapTotals,
    input: TokenTotals,
    output: TokenTotals,
    prompt_tokens_with_cache_count: u64,
    cached_tokens: u64,
    has_cache_count: bool,
}

#[derive(Debug, Default)]
struct TokenTotals {
    sum: u64,
    sources: BTreeMap<&'static str, u64>,
}

impl TokenTotals {
    fn add(&mut self, tokens: Option<Tokens>) {
        if let Some(tokens) = tokens {
            self.sum += u64::from(tokens.count);
            *self.sources.entry(tokens.source.name()).or_default() += 1;
        }
    }

    fn sources(&self) -> BTreeMap<String, u64> {
        self.sources
            .iter()
            .map(|(&source, &count)| (source.to_owned(), count))
            .collect()
    }
}

impl Totals {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        if !is_measured(outcome) {
            return;
        }
        self.gaps.add(&outcome.gaps);
        self.input.add(outcome.input_tokens);
        self.output.add(outcome.output_tokens);
        // The share is of the server's own count: the trace's may be of another tokenizer.
        let served = outcome
            .input_tokens
            .filter(|tokens| tokens.source == TokenSource::ServerUsage);
        if let (Some(cached), Some(prompt)) = (outcome.cached_tokens, served) {
            self.has_cache_count = true;
            self.cached_tokens += u64::from(cached);
            self.prompt_tokens_with_cache_count += u64::from(prompt.count);
        }
    }

    /// Input tokens of all completed requests.
    pub(super) fn input_tokens(&self) -> u64 {
        self.input.sum
    }

    /// Output tokens of all completed requests.
    pub(super) fn output_tokens(&self) -> u64 {
        self.output.sum
    }

    fn cached_share(&self) -> Option<f64> {
        let known = self.has_cache_count && self.prompt_tokens_with_cache_count > 0;
        known.then(|| round(self.cached_tokens as f64 / self.prompt_tokens_with_cache_count as f64))
    }
}

/// The metrics, and how many values were left out as they were negative.
pub(super) struct Measured {
    /// The metrics.
    pub(super) metrics: Metrics,
    /// Values below zero.
    pub(super) negative: u64,
}

/// Computes the metrics in three passes, so that the values of a few metrics are in memory at a time.
pub(super) fn measure(
    outcomes: &impl Outcomes,
    totals: &Totals,
    gaps: &Histogram,
) -> Result<Measured, AnalyseError> {
    let mut negative = 0;
    let mut latencies = |values: Values| {
        negative += values.negative();
        values.distribution(Unit::Nanoseconds)
    };
    let [ttft, from_schedule, first_content, tpot] = collect(
        outcomes,
        [
            view::ttft,
            view::ttft_from_schedule,
            view::time_to_first_content,
            view::tpot,
        ],
    )?;
    let (ttft_ms, ttft_from_schedule_ms) = (latencies(ttft), latencies(from_schedule));
    let (time_to_first_content_ms, tpot_ms) = (latencies(first_content), latencies(tpot));

    let [latency, from_schedule, wait, connect] = collect(
        outcomes,
        [
            view::latency,
            view::latency_from_schedule,
            view::dependency_wait,
            view::connect,
        ],
    )?;
    let (request_latency_ms, request_latency_from_schedule_ms) =
        (latencies(latency), latencies(from_schedule));
    let (dependency_wait_ms, connect_ms) = (latencies(wait), latencies(connect));

    let [input, output] = collect(outcomes, [view::input_tokens, view::output_tokens])?;
    let metrics = Metrics {
        ttft_ms,
        ttft_from_schedule_ms,
        time_to_first_content_ms,
        tpot_ms,
        inter_chunk_latency_ms: distribution::of_gaps(&totals.gaps, gaps),
        request_latency_ms,
        request_latency_from_schedule_ms,
        dependency_wait_ms,
        connect_ms,
        input_tokens: input.distribution(Unit::Count),
        output_tokens: output.distribution(Unit::Count),
        input_token_sources: totals.input.sources(),
        output_token_sources: totals.output.sources(),
        cached_input_share: totals.cached_share(),
    };
    Ok(Measured { metrics, negative })
}

/// Whether the request is in the metrics.
pub(super) fn is_measured(outcome: &Outcome) -> bool {
    outcome.phase == Phase::Measured && outcome.ending == Ending::Completed
}

fn collect<const N: usize>(
    outcomes: &impl Outcomes,
    views: [fn(&Outcome) -> Option<i64>; N],
) -> Result<[Values; N], AnalyseError> {
    let mut values = std::array::from_fn(|_| Values::default());
    scan(outcomes, |outcome| {
        if is_measured(outcome) {
            for (values, view) in values.iter_mut().zip(views) {
                values.push(view(outcome));
            }
        }
        Ok(())
    })?;
    Ok(values)
}
