//! Which requests met the limits.

use reprise_contract::summary::{Counts, SloResult};
use reprise_contract::{Ending, Outcome, Phase};

use super::distribution::round;
use super::{Slo, view};

/// Counts the requests that met every limit.
#[derive(Debug)]
pub(super) struct Goodput {
    slo: Slo,
    good: u64,
    lacking: u64,
}

enum Judgement {
    Met,
    Missed,
    /// The request has no value to hold against the limit.
    Lacking,
}

impl Goodput {
    pub(super) fn new(slo: Slo) -> Self {
        Self {
            slo,
            good: 0,
            lacking: 0,
        }
    }

    pub(super) fn add(&mut self, outcome: &Outcome) {
        if outcome.phase != Phase::Measured || outcome.ending != Ending::Completed {
            return;
        }
        let judgements = [
            judge(self.slo.ttft, view::ttft(outcome)),
            judge(self.slo.inter_token_latency, inter_token_latency(outcome)),
            judge(self.slo.request_latency, view::latency(outcome)),
        ];
        self.good += u64::from(
            judgements
                .iter()
                .all(|judgement| matches!(judgement, Judgement::Met)),
        );
        self.lacking += u64::from(
            judgements
                .iter()
                .any(|judgement| matches!(judgement, Judgement::Lacking)),
        );
    }

    /// Completed requests that lack a value which a limit needs.
    pub(super) fn lacking(&self) -> u64 {
        self.lacking
    }

    /// The result over the measured span.
    pub(super) fn finish(&self, counts: &Counts, span_s: f64) -> SloResult {
        let limit = |limit: Option<std::time::Duration>| limit.map(|limit| round(limit.as_secs_f64() * 1e3));
        let judged = counts.measured - counts.not_sent;
        SloResult {
            ttft_ms: limit(self.slo.ttft),
            inter_token_latency_ms: limit(self.slo.inter_token_latency),
            request_latency_ms: limit(self.slo.request_latency),
            good: self.good,
            good_share: round(self.good as f64 / judged as f64),
            goodput_per_second: round(self.good as f64 / span_s),
        }
    }
}

/// An answer of at most one token has no time between tokens: nothing that could be too long.
fn inter_token_latency(outcome: &Outcome) -> Option<i64> {
    match view::counted_output_tokens(outcome) {
        Some(0 | 1) => Some(0),
        _ => view::tpot(outcome),
    }
}

fn judge(limit: Option<std::time::Duration>, value_ns: Option<i64>) -> Judgement {
    match (limit, value_ns) {
        (None, _) => Judgement::Met,
        (Some(_), None) => Judgement::Lacking,
        (Some(limit), Some(value)) if i128::from(value) <= limit.as_nanos().cast_signed() => Judgement::Met,
        (Some(_), Some(_)) => Judgement::Missed,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reprise_contract::outcome::Tokens;
    use reprise_contract::{FailureCause, TokenSource};

    use super::*;
    use crate::fixtures;

    fn goodput(slo: Slo, outcomes: &[Outcome]) -> (u64, u64) {
        let mut goodput = Goodput::new(slo);
        for outcome in outcomes {
            goodput.add(outcome);
        }
        (goodput.good, goodput.lacking)
    }

    #[test]
    fn a_limit_is_met_up_to_and_including_itself() {
        let outcome = fixtures::outcome(0);
        let ttft = Duration::from_nanos(view::ttft(&outcome).unwrap().unsigned_abs());
        let slo = |limit| Slo {
            ttft: Some(limit),
            ..Slo::default()
        };
        assert_eq!(goodput(slo(ttft), std::slice::from_ref(&outcome)), (1, 0));
        assert_eq!(
            goodput(slo(ttft.saturating_sub(Duration::from_nanos(1))), &[outcome]),
            (0, 0)
        );
    }

    #[test]
    fn without_a_first_token_a_limit_on_it_is_not_met() {
        let slo = Slo {
            ttft: Some(Duration::MAX),
            ..Slo::default()
        };
        assert_eq!(
            goodput(slo, &[fixtures::unstreamed(0), fixtures::outcome(1)]),
            (1, 1)
        );
    }

    #[test]
    fn one_token_meets_a_limit_between_tokens() {
        let mut outcome = fixtures::outcome(0);
        outcome.output_tokens = Some(Tokens {
            count: 1,
            source: TokenSource::ServerUsage,
        });
        let slo = Slo {
            inter_token_latency: Some(Duration::from_nanos(1)),
            ..Slo::default()
        };
        assert_eq!(goodput(slo, &[outcome]), (1, 0));
    }

    #[test]
    fn failed_and_warm_up_requests_are_not_good() {
        let mut failed = fixtures::outcome(0);
        failed.ending = Ending::Failed(FailureCause::ConnectionClosed);
        let mut warmup = fixtures::outcome(1);
        warmup.phase = Phase::Warmup;
        let slo = Slo {
            request_latency: Some(Duration::MAX),
            ..Slo::default()
        };
        assert_eq!(goodput(slo, &[failed, warmup]), (0, 0));
    }
}
