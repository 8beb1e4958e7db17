//! From outcomes to the numbers of a [`Summary`].
//!
//! Two passes over the file: the first for all numbers, the second for what happened over time, when it is known how long the
//! run was. Percentiles are by nearest rank, exact up to [`EXACT_VALUES`] values a metric; those of lag always are.

mod accounting;
mod distribution;
mod goodput;
mod lag;
mod loss;
mod metrics;
mod series;
mod span;
mod verdict;
mod view;
mod warnings;
mod workers;

#[cfg(test)]
mod tests;

pub use self::workers::{Loss, OnLoss, Part, PartClock, Workers};

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use reprise_contract::summary::{Counts, Provenance, SCHEMA_VERSION, Throughput, Warning};
use reprise_contract::{Histogram, Outcome, Summary};

use self::accounting::Accounting;
pub use self::distribution::EXACT_VALUES;
use self::distribution::{percentile_method, round};
use self::goodput::Goodput;
use self::lag::Lags;
use self::metrics::{Measured, Measurements, Totals};
use self::series::Timeline;
use self::span::Span;
use self::warnings::Evidence;
use self::workers::ByWorker;
use crate::outcomes::{OutcomeFileError, OutcomeReader};

/// What a run knows of itself besides its outcomes.
#[derive(Clone, Debug)]
pub struct Input {
    /// `metadata.name`.
    pub name: String,
    /// The spec as it ran, defaults filled in, credentials redacted.
    pub spec: serde_json::Value,
    /// What was chosen, by whom and with which digests.
    pub provenance: Provenance,
    /// What was noticed before and during the run. Warnings that the numbers give rise to come after these.
    pub warnings: Vec<Warning>,
    /// T0 on the wall clock, RFC 3339.
    pub started_at: String,
    /// What ended the run.
    pub ended_by: EndedBy,
    /// How many requests the plan has, warm-up included. Each must have an outcome; its number is below this.
    pub planned: u64,
    /// What the numbers are held against.
    pub limits: Limits,
    /// The workers, where there are many. `None`: this process did it all.
    pub workers: Option<Workers>,
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Every planned request was sent, dropped, or had no more time.
    Completion,
    /// Somebody cancelled it.
    Cancel,
    /// Its deadline passed.
    Deadline,
    /// It could not go on.
    Abort {
        /// Why, as a sentence.
        message: String,
    },
}

/// What the numbers are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `slo`, where the spec has one.
    pub slo: Option<Slo>,
    /// `replay.lateThreshold`: a request that goes later than this counts as late.
    pub late_threshold: Duration,
}

/// Limits on each request; a value equal to its limit is within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slo {
    /// On the time to first token, from sent.
    pub ttft: Option<Duration>,
    /// On the mean time between output tokens (TPOT).
    pub inter_token_latency: Option<Duration>,
    /// On the request latency, from sent.
    pub request_latency: Option<Duration>,
}

/// Outcomes that no summary can be made of.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// The outcomes cannot be read.
    #[error(transparent)]
    File(#[from] OutcomeFileError),
    /// Two outcomes for one request.
    #[error("Cannot analyse outcomes: request {request} has two. This is a fault in Reprise.")]
    Twice {
        /// The request.
        request: u32,
    },
    /// An outcome for a request that was not planned.
    #[error(
        "Cannot analyse outcomes: request {request} is beyond the {planned} planned ones. Use the plan that the outcomes \
         belong to."
    )]
    NotPlanned {
        /// The request.
        request: u32,
        /// How many were planned.
        planned: u64,
    },
}

/// Computes the summary of a run from its `outcomes.parquet` and the histogram of the gaps between output-bearing chunks of
/// its completed, measured requests.
///
/// # Errors
/// When the file cannot be read, or its outcomes do not belong to the plan. A run that measured nothing is no error; its
/// verdict says so.
pub fn analyse(input: Input, outcomes: &Path, gaps: &Histogram) -> Result<Summary, AnalyseError> {
    summarise(input, &outcomes, gaps)
}

/// Batches that are read ahead.
const READ_AHEAD: usize = 4;

/// Outcomes that can be gone through several times.
trait Outcomes: Sync {
    fn batches(
        &self,
    ) -> Result<impl Iterator<Item = Result<Vec<Outcome>, OutcomeFileError>>, OutcomeFileError>;
}

impl Outcomes for &Path {
    fn batches(
        &self,
    ) -> Result<impl Iterator<Item = Result<Vec<Outcome>, OutcomeFileError>>, OutcomeFileError> {
        OutcomeReader::for_numbers(self)
    }
}

/// Shows every outcome to `see`. Reading takes about as long as counting, so a thread of its own does it.
fn scan(
    outcomes: &impl Outcomes,
    mut see: impl FnMut(&Outcome) -> Result<(), AnalyseError>,
) -> Result<(), AnalyseError> {
    thread::scope(|threads| {
        let (sender, batches) = sync_channel(READ_AHEAD);
        let reader = threads.spawn(move || {
            for batch in outcomes.batches()? {
                // Whoever counts has seen an error when it takes no more.
                if sender.send(batch?).is_err() {
                    break;
                }
            }
            Ok::<_, OutcomeFileError>(())
        });
        for batch in batches {
            batch.iter().try_for_each(&mut see)?;
        }
        match reader.join() {
            Ok(read) => Ok(read?),
            Err(panic) => resume_unwind(panic),
        }
    })
}

fn summarise(input: Input, outcomes: &impl Outcomes, gaps: &Histogram) -> Result<Summary, AnalyseError> {
    let mut accounting = Accounting::new(input.planned);
    let (mut span, mut lags, mut totals) = (Span::default(), Lags::default(), Totals::default());
    let mut goodput = input.limits.slo.map(Goodput::new);
    let (mut measurements, mut by_worker) = (Measurements::default(), ByWorker::default());
    scan(outcomes, |outcome| {
        accounting.add(outcome)?;
        span.add(outcome);
        lags.add(outcome);
        totals.add(outcome);
        measurements.add(outcome);
        by_worker.add(outcome);
        if let Some(goodput) = &mut goodput {
            goodput.add(outcome);
        }
        Ok(())
    })?;
    let lag = lags.finish(input.limits.late_threshold);
    let unchecked_lengths = accounting.unchecked_lengths();
    let counts = accounting.finish();

    let measured = (counts.completed > 0).then(|| measurements.finish(&totals, gaps));
    let negative = measured.as_ref().map_or(0, |measured| measured.negative);
    let metrics = measured.map(|Measured { metrics, .. }| metrics);

    let mut timeline = Timeline::new(&span, counts.planned);
    scan(outcomes, |outcome| {
        timeline.add(outcome);
        Ok(())
    })?;
    let (series, peak_in_flight) = timeline.finish();
    let throughput = throughput(&counts, &span, &totals, peak_in_flight);

    let (verdict, message) = verdict::verdict(&counts, &input.ended_by, input.workers.as_ref());
    let clock_error = input
        .workers
        .as_ref()
        .and_then(|workers| by_worker.clock_error(workers));
    let workers = input
        .workers
        .as_ref()
        .map_or_else(Vec::new, |workers| by_worker.finish(workers));
    let degraded = input
        .workers
        .as_ref()
        .is_some_and(|workers| workers.on_loss == OnLoss::Degrade && workers.lost().next().is_some());
    let evidence = Evidence {
        counts: &counts,
        lag: lag.as_ref(),
        workers: &workers,
        lost: input
            .workers
            .as_ref()
            .filter(|_| degraded)
            .and_then(|workers| loss::lost(&counts, workers)),
        metrics: metrics.as_ref(),
        unchecked_lengths,
        lacking_slo_value: goodput.as_ref().map_or(0, Goodput::lacking),
        negative,
        gaps: (totals.gaps.count, gaps.count()),
    };
    let warnings = input
        .warnings
        .into_iter()
        .chain(warnings::derive(&evidence))
        .collect();
    let slo = goodput
        .zip(throughput.as_ref())
        .map(|(goodput, throughput)| goodput.finish(&counts, throughput.span_s));
    let completed = counts.completed;
    Ok(Summary {
        schema_version: SCHEMA_VERSION.to_owned(),
        name: input.name,
        verdict,
        message,
        degraded,
        started_at: input.started_at,
        elapsed_s: seconds(span.elapsed_ns()),
        counts,
        lag,
        metrics,
        throughput,
        slo,
        split: input
            .workers
            .and_then(|given| workers::split(given.chosen_by, &workers)),
        workers,
        clock_error,
        series,
        percentile_method: percentile_method(completed),
        provenance: input.provenance,
        warnings,
        spec: input.spec,
    })
}

fn throughput(counts: &Counts, span: &Span, totals: &Totals, peak_in_flight: u64) -> Option<Throughput> {
    let measured_ns = span.measured_ns().filter(|_| counts.completed > 0)?;
    let span_s = seconds(measured_ns);
    let per_second = |count: u64| round(count as f64 / span_s);
    Some(Throughput {
        span_s,
        sending_span_s: seconds(span.sending_ns()?),
        requests_per_second: per_second(counts.completed),
        output_tokens_per_second: per_second(totals.output_tokens()),
        input_tokens_per_second: per_second(totals.input_tokens()),
        peak_in_flight,
    })
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}
