//! How late requests went.

use std::time::Duration;

use reprise_contract::Outcome;
use reprise_contract::summary::Lag;

use super::distribution::{ms, sorted_quantile};

/// Collects the lag of every request that was sent, warm-up included.
#[derive(Debug, Default)]
pub(super) struct Lags {
    values: Vec<i64>,
}

impl Lags {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.values.extend(outcome.lag_ns());
    }

    /// The numbers, or `None` when no request has a lag. Nothing is subtracted from a value, and none is left out.
    pub(super) fn finish(mut self, threshold: Duration) -> Option<Lag> {
        self.values.sort_unstable();
        let threshold_ns = i64::try_from(threshold.as_nanos()).unwrap_or(i64::MAX);
        let on_time = self.values.partition_point(|&lag| lag <= threshold_ns);
        let at = |quantile| sorted_quantile(&self.values, quantile).map(ms);
        Some(Lag {
            count: self.values.len() as u64,
            min_ms: at(0.0)?,
            p50_ms: at(0.5)?,
            p90_ms: at(0.9)?,
            p99_ms: at(0.99)?,
            max_ms: at(1.0)?,
            threshold_ms: ms(threshold_ns),
            late: (self.values.len() - on_time) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn lag(lags_ms: &[i64], threshold_ms: u64) -> Option<Lag> {
        let mut lags = Lags::default();
        for (request, lag) in (0..).zip(lags_ms) {
            let mut outcome = fixtures::outcome(request);
            outcome.times.sent = outcome.times.due.map(|due| due + lag * 1_000_000);
            lags.add(&outcome);
        }
        lags.finish(Duration::from_millis(threshold_ms))
    }

    #[test]
    fn constant_lateness_shows() {
        let lag = lag(&[700, 700, 700], 50).unwrap();
        assert_eq!(
            (lag.min_ms, lag.p50_ms, lag.max_ms, lag.late),
            (700.0, 700.0, 700.0, 3)
        );
    }

    #[test]
    fn the_threshold_changes_only_how_many_are_late() {
        let lags = [1, 5, 6, 49, 50, 51];
        let (strict, lenient) = (lag(&lags, 5).unwrap(), lag(&lags, 50).unwrap());
        assert_eq!((strict.late, lenient.late), (4, 1));
        assert_eq!(
            Lag {
                late: 0,
                threshold_ms: 0.0,
                ..strict
            },
            Lag {
                late: 0,
                threshold_ms: 0.0,
                ..lenient
            }
        );
    }

    #[test]
    fn nothing_sent_is_no_lag() {
        assert_eq!(lag(&[], 50), None);
    }
}
