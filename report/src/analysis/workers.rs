//! What each of many workers did, and how well their clocks agree.

use std::collections::BTreeMap;

use reprise_contract::summary::{ClockError, SplitResult, WorkerClock, WorkerLag, WorkerLoss, WorkerResult};
use reprise_contract::{Ending, Histogram, Outcome};

use super::distribution::{ms, round};

/// What a run by many workers knows of them besides their outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Workers {
    /// Who chose how many there are and why, or how the plan was split, for people.
    pub chosen_by: String,
    /// What a lost worker means.
    pub on_loss: OnLoss,
    /// The workers, by index.
    pub parts: Vec<Part>,
}

/// `workers.lossPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// The run has failed.
    Fail,
    /// The result is marked as degraded, and is about the rest.
    Degrade,
}

/// One worker, and its part of the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Requests of its part, warm-up included.
    pub requests: u64,
    /// What is known of its clock.
    pub clock: Option<PartClock>,
    /// How it was lost after T0, if it was.
    pub lost: Option<Loss>,
}

/// What is known of a worker's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartClock {
    /// How far a mapped time may be off, in nanoseconds.
    pub error_ns: u64,
    /// How much faster it runs than the manager's, in millionths.
    pub drift_ppm: f64,
    /// Round trips that were looked at.
    pub samples: u64,
}

/// How a worker was lost. What it certainly did not send has an outcome that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When that was certain, in nanoseconds since T0; `None`: it never sent anything.
    pub at_ns: Option<i64>,
    /// Requests that have no outcome, as it may have sent them.
    pub unknown: u64,
    /// Requests that it certainly did not send.
    pub not_sent: u64,
}

impl Workers {
    /// Those that were lost, with their indexes.
    pub(super) fn lost(&self) -> impl Iterator<Item = (usize, Loss)> + '_ {
        let parts = self.parts.iter().enumerate();
        parts.filter_map(|(index, part)| Some((index, part.lost?)))
    }
}

/// Collects what each worker did.
#[derive(Debug, Default)]
pub(super) struct ByWorker {
    counts: BTreeMap<u32, WorkerCounts>,
    clock: ClockErrors,
}

#[derive(Debug, Default)]
struct WorkerCounts {
    sent: u64,
    completed: u64,
    failed: u64,
    lag: Histogram,
    lag_max_ns: Option<i64>,
}

#[derive(Debug, Default)]
struct ClockErrors {
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl ByWorker {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let counts = self.counts.entry(outcome.worker).or_default();
        counts.sent += u64::from(outcome.was_sent());
        match outcome.ending {
            Ending::Completed => counts.completed += 1,
            Ending::Failed(_) => counts.failed += 1,
            Ending::Cancelled | Ending::Dropped | Ending::NotSent(_) => {}
        }
        if let Some(lag_ns) = outcome.lag_ns() {
            counts.lag.record(u64::try_from(lag_ns).unwrap_or(0));
            counts.lag_max_ns = counts.lag_max_ns.max(Some(lag_ns));
        }
        if let Some(error_ns) = outcome.clock_error_ns.filter(|_| outcome.was_sent()) {
            self.clock.count += 1;
            self.clock.sum_ns += u128::from(error_ns.unsigned_abs());
            self.clock.max_ns = self.clock.max_ns.max(error_ns.unsigned_abs());
        }
    }

    /// How well the clocks agree; `None` when no request that was sent says so.
    pub(super) fn clock_error(&self, workers: &Workers) -> Option<ClockError> {
        let clocks = workers.parts.iter().filter_map(|part| part.clock);
        (self.clock.count > 0).then(|| ClockError {
            max_ms: ms_of(self.clock.max_ns),
            mean_ms: round(self.clock.sum_ns as f64 / self.clock.count as f64 / 1e6),
            bound_ms: clocks.map(|clock| clock.error_ns).max().map(ms_of),
        })
    }

    /// The numbers of each worker, by index.
    pub(super) fn finish(mut self, workers: &Workers) -> Vec<WorkerResult> {
        let results = (0..).zip(&workers.parts).map(|(index, part)| {
            let counts = self.counts.remove(&index).unwrap_or_default();
            WorkerResult {
                index,
                requests: part.requests,
                sent: counts.sent,
                completed: counts.completed,
                failed: counts.failed,
                lag: counts.lag(),
                clock: part.clock.map(PartClock::shown),
                lost: part.lost.map(Loss::shown),
            }
        });
        results.collect()
    }
}

impl WorkerCounts {
    fn lag(&self) -> Option<WorkerLag> {
        let max_ns = self.lag_max_ns?;
        // A bucket's upper bound can lie beyond the greatest lag.
        let at = |quantile| {
            let lag_ns = self.lag.quantile(quantile)?;
            Some(ms(i64::try_from(lag_ns).unwrap_or(i64::MAX).min(max_ns.max(0))))
        };
        Some(WorkerLag {
            p50_ms: at(0.5)?,
            p99_ms: at(0.99)?,
            max_ms: ms(max_ns),
        })
    }
}

impl PartClock {
    fn shown(self) -> WorkerClock {
        WorkerClock {
            error_ms: ms_of(self.error_ns),
            drift_ppm: round(self.drift_ppm),
            samples: self.samples,
        }
    }
}

impl Loss {
    fn shown(self) -> WorkerLoss {
        WorkerLoss {
            at_s: self.at_ns.map(|at_ns| at_ns as f64 / 1e9),
            unknown: self.unknown,
            not_sent: self.not_sent,
        }
    }
}

/// How evenly the plan was split, and how evenly the workers kept up. `None` without workers.
pub(super) fn split(chosen_by: String, results: &[WorkerResult]) -> Option<SplitResult> {
    let requests = || results.iter().map(|result| result.requests);
    let (least, most) = (requests().min()?, requests().max()?);
    let mean = requests().sum::<u64>() as f64 / results.len() as f64;
    let lags: Vec<f64> = results
        .iter()
        .filter_map(|result| Some(result.lag?.p99_ms))
        .collect();
    let least_lag = lags.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest_lag = lags.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(SplitResult {
        workers: u32::try_from(results.len()).unwrap_or(u32::MAX),
        chosen_by,
        requests_least: least,
        requests_most: most,
        requests_skew: if mean > 0.0 {
            round(most as f64 / mean)
        } else {
            1.0
        },
        lag_p99_spread_ms: (lags.len() > 1).then(|| round(greatest_lag - least_lag)),
    })
}

fn ms_of(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
