//! What the reader should know before trusting a number, as the numbers themselves tell it.

use std::collections::BTreeMap;

use reprise_contract::summary::{Counts, Lag, Metrics, Warning, WorkerResult};
use reprise_contract::{FailureCause, TokenSource};

use super::loss;
use crate::numbers::{count, counted, number, percent};

/// With fewer values than these, the 99th percentile is the greatest value.
const ENOUGH_FOR_P99: u64 = 100;

/// What warnings are drawn from.
pub(super) struct Evidence<'a> {
    pub(super) counts: &'a Counts,
    pub(super) lag: Option<&'a Lag>,
    /// What each of many workers did.
    pub(super) workers: &'a [WorkerResult],
    /// What is said of lost workers, where the run goes on without them.
    pub(super) lost: Option<String>,
    pub(super) metrics: Option<&'a Metrics>,
    /// Completed requests whose length was asked for, but not told by the server.
    pub(super) unchecked_lengths: u64,
    /// Completed requests that lack a value which a limit needs.
    pub(super) lacking_slo_value: u64,
    /// Values left out as they were negative.
    pub(super) negative: u64,
    /// Gaps of completed requests, and gaps in the histogram.
    pub(super) gaps: (u64, u64),
}

/// The warnings, the weightiest first.
pub(super) fn derive(evidence: &Evidence<'_>) -> Vec<Warning> {
    let counts = evidence.counts;
    let metrics = evidence.metrics;
    [
        worker_lost(evidence.lost.as_deref()),
        generator_limit(counts),
        no_output(counts),
        evidence.lag.and_then(|lag| lateness(lag, evidence.workers)),
        dropped(counts),
        negative_values(evidence.negative),
        gaps_elsewhere(evidence.gaps),
        metrics.and_then(|metrics| mixed("input", &metrics.input_token_sources)),
        metrics.and_then(|metrics| mixed("output", &metrics.output_token_sources)),
        metrics.and_then(|metrics| counted_chunks(&metrics.output_token_sources)),
        length_mismatches(counts),
        unchecked_lengths(evidence.unchecked_lengths),
        lacking_slo_values(evidence.lacking_slo_value),
        partial_sessions(counts),
        warmup(counts),
        few_values(counts),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn warning(code: &str, message: String) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
    }
}

fn generator_limit(counts: &Counts) -> Option<Warning> {
    let failure = counts.failures.get(FailureCause::LocalLimit.name())?;
    let message = format!(
        "{} found no file descriptor or local port left on the generator's side, so the target never saw them. Allow more open \
         files (`ulimit -n`), widen the range of local ports (on Linux `net.ipv4.ip_local_port_range`), or have fewer \
         requests in flight.",
        counted(failure.count, "measured request", "measured requests")
    );
    Some(warning("GeneratorLimit", message))
}

fn no_output(counts: &Counts) -> Option<Warning> {
    let without = counts.completed_without_output;
    (without > 0).then(|| {
        let message = format!(
            "{} bore no output: no chunk did, and the count of output tokens is 0.",
            counted(without, "completed request", "completed requests")
        );
        warning("NoOutput", message)
    })
}

fn worker_lost(lost: Option<&str>) -> Option<Warning> {
    lost.map(|lost| {
        warning(
            "WorkerLost",
            format!("{lost} The target saw less load than was planned."),
        )
    })
}

fn lateness(lag: &Lag, workers: &[WorkerResult]) -> Option<Warning> {
    let late = format!(
        "{} of {} requests ({}) went more than {} ms after they were due; lag p99 is {} ms, the greatest {} ms.",
        count(lag.late),
        count(lag.count),
        percent(lag.late as f64 / lag.count as f64),
        lag.threshold_ms,
        number(lag.p99_ms),
        number(lag.max_ms)
    );
    if lag.p99_ms > lag.threshold_ms {
        let advice = "The generator could not keep the schedule, so the target saw another load than the recorded one. Give \
                      it more cores, or lower the speed.";
        let whose = late_workers(lag, workers);
        Some(warning("GeneratorSaturated", format!("{late}{whose} {advice}")))
    } else {
        (lag.late > 0).then(|| warning("LateRequests", late))
    }
}

/// Says which workers were late, if some were and some were not.
fn late_workers(lag: &Lag, workers: &[WorkerResult]) -> String {
    let is_late = |result: &&WorkerResult| result.lag.is_some_and(|own| own.p99_ms > lag.threshold_ms);
    let late: Vec<usize> = workers
        .iter()
        .filter(is_late)
        .map(|result| result.index as usize)
        .collect();
    if late.is_empty() || late.len() == workers.len() {
        return String::new();
    }
    format!(" Lag p99 is above the limit only at {}.", loss::named(&late))
}

fn dropped(counts: &Counts) -> Option<Warning> {
    (counts.dropped > 0).then(|| {
        let message = format!(
            "{} of {} measured requests were dropped as too late: the target was spared them, and the lag is without them.",
            count(counts.dropped),
            count(counts.measured)
        );
        warning("RequestsDropped", message)
    })
}

fn negative_values(negative: u64) -> Option<Warning> {
    (negative > 0).then(|| {
        let message = format!(
            "{} latencies were negative and are left out. This is a fault in Reprise.",
            count(negative)
        );
        warning("NegativeLatency", message)
    })
}

fn gaps_elsewhere((of_requests, of_histogram): (u64, u64)) -> Option<Warning> {
    (of_requests != of_histogram).then(|| {
        let message = format!(
            "Completed requests had {} gaps between chunks, but the histogram that inter-chunk percentiles come \
             from holds {}.",
            count(of_requests),
            count(of_histogram)
        );
        warning("InterChunkGapsDiffer", message)
    })
}

fn mixed(what: &str, sources: &BTreeMap<String, u64>) -> Option<Warning> {
    (sources.len() > 1).then(|| {
        let list: Vec<_> = sources
            .iter()
            .map(|(source, &requests)| format!("{source} {}", count(requests)))
            .collect();
        let message = format!(
            "Counts of {what} tokens come from several sources ({}).",
            list.join(", ")
        );
        warning("MixedTokenSources", message)
    })
}

fn counted_chunks(sources: &BTreeMap<String, u64>) -> Option<Warning> {
    sources.get(TokenSource::ChunkCount.name()).map(|&requests| {
        let message = format!(
            "{} requests came without the server's token count, so their chunks were counted instead. A chunk may hold \
             several tokens: output tokens are then too few and TPOT too high.",
            count(requests)
        );
        warning("ChunksCountedAsTokens", message)
    })
}

fn length_mismatches(counts: &Counts) -> Option<Warning> {
    let mismatches = counts.output_length_mismatches;
    (mismatches > 0).then(|| {
        let message = format!(
            "{} of {} completed requests have another output length than was asked for: the target's load is not \
             the recorded one.",
            count(mismatches),
            count(counts.completed)
        );
        warning("OutputLengthMismatch", message)
    })
}

fn unchecked_lengths(unchecked: u64) -> Option<Warning> {
    (unchecked > 0).then(|| {
        let message = format!(
            "{} completed requests asked for an output length, but the server did not say how long the answer is.",
            count(unchecked)
        );
        warning("OutputLengthUnchecked", message)
    })
}

fn lacking_slo_values(lacking: u64) -> Option<Warning> {
    (lacking > 0).then(|| {
        let message = format!(
            "{} completed requests lack a value that a limit of `slo` needs (such as TTFT, where the answer was not \
             streamed), and so are not counted as good.",
            count(lacking)
        );
        warning("SloValueMissing", message)
    })
}

fn partial_sessions(counts: &Counts) -> Option<Warning> {
    let partial = counts.partial_sessions;
    (partial > 0).then(|| {
        warning(
            "PartialSessions",
            format!(
                "Sessions of which some turns, but not all, were sent: {}.",
                count(partial)
            ),
        )
    })
}

fn warmup(counts: &Counts) -> Option<Warning> {
    let incomplete = counts.warmup_not_completed;
    (incomplete > 0).then(|| {
        let message = format!(
            "{} of {} warm-up requests did not complete.",
            count(incomplete),
            count(counts.warmup)
        );
        warning("WarmupNotCompleted", message)
    })
}

fn few_values(counts: &Counts) -> Option<Warning> {
    (1..ENOUGH_FOR_P99).contains(&counts.completed).then(|| {
        let message = format!(
            "With {} completed requests, the 99th percentile of a latency is its greatest value.",
            counts.completed
        );
        warning("FewValues", message)
    })
}
