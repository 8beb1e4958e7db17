//! What was measured, over completed requests.

use std::collections::BTreeMap;

use reprise_contract::outcome::Tokens;
use reprise_contract::summary::Metrics;
use reprise_contract::{Ending, Histogram, Outcome, Phase, TokenSource};

use super::distribution::{self, Unit, Values, round};
use super::view;

/// What one pass over the outcomes can sum up without keeping values.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The gaps of all requests.
    pub(super) gaps: distribution::Totals,
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
        self.gaps.add_gaps(&outcome.gaps);
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

/// The values that metrics are made of.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    ttft: Values,
    ttft_from_schedule: Values,
    time_to_first_content: Values,
    tpot: Values,
    latency: Values,
    latency_from_schedule: Values,
    dependency_wait: Values,
    connect: Values,
    input_tokens: Values,
    output_tokens: Values,
}

impl Measurements {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        if !is_measured(outcome) {
            return;
        }
        self.ttft.push(view::ttft(outcome));
        self.ttft_from_schedule.push(view::ttft_from_schedule(outcome));
        self.time_to_first_content
            .push(view::time_to_first_content(outcome));
        self.tpot.push(view::tpot(outcome));
        self.latency.push(view::latency(outcome));
        self.latency_from_schedule
            .push(view::latency_from_schedule(outcome));
        self.dependency_wait.push(view::dependency_wait(outcome));
        self.connect.push(view::connect(outcome));
        self.input_tokens.push(view::input_tokens(outcome));
        self.output_tokens.push(view::output_tokens(outcome));
    }

    /// The metrics. `gaps` is the histogram of the gaps that `totals` has the exact numbers of.
    pub(super) fn finish(self, totals: &Totals, gaps: &Histogram) -> Measured {
        let mut negative = 0;
        let mut latencies = |values: Values| {
            negative += values.negative();
            values.distribution(Unit::Nanoseconds)
        };
        let metrics = Metrics {
            ttft_ms: latencies(self.ttft),
            ttft_from_schedule_ms: latencies(self.ttft_from_schedule),
            time_to_first_content_ms: latencies(self.time_to_first_content),
            tpot_ms: latencies(self.tpot),
            inter_chunk_latency_ms: distribution::of_gaps(&totals.gaps, gaps),
            request_latency_ms: latencies(self.latency),
            request_latency_from_schedule_ms: latencies(self.latency_from_schedule),
            dependency_wait_ms: latencies(self.dependency_wait),
            connect_ms: latencies(self.connect),
            input_tokens: self.input_tokens.distribution(Unit::Count),
            output_tokens: self.output_tokens.distribution(Unit::Count),
            input_token_sources: totals.input.sources(),
            output_token_sources: totals.output.sources(),
            cached_input_share: totals.cached_share(),
        };
        Measured { metrics, negative }
    }
}

/// Whether the request is in the metrics.
pub(super) fn is_measured(outcome: &Outcome) -> bool {
    outcome.phase == Phase::Measured && outcome.ending == Ending::Completed
}
