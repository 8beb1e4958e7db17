//! How metrics are called, defined and written, on the terminal and on the page.

use reprise_contract::summary::{
    ClockError, Counts, Distribution, Metrics, SloResult, SplitResult, Verdict, WorkerResult,
};

use crate::numbers::{count, counted, number};

/// A latency metric.
pub(crate) struct Latency {
    /// Its name.
    pub(crate) label: &'static str,
    /// What it is, in a sentence.
    pub(crate) definition: &'static str,
    /// Its values, in milliseconds.
    pub(crate) of: fn(&Metrics) -> Option<&Distribution>,
}

/// The latencies that lead: what a user of the target feels.
pub(crate) const MAIN_LATENCIES: [Latency; 5] = [
    Latency {
        label: "TTFT",
        definition: "Time to first token: first output (content, reasoning or a tool call) minus sent. A chunk that bears no \
                     output, such as a role or metadata, does not count. Streamed answers only.",
        of: |metrics| metrics.ttft_ms.as_ref(),
    },
    Latency {
        label: "TTFT from schedule",
        definition: "First output minus the time the schedule wanted the request: what a user of the recorded traffic would \
                     have waited, with the generator's and the session's lateness (no coordinated omission).",
        of: |metrics| metrics.ttft_from_schedule_ms.as_ref(),
    },
    Latency {
        label: "TPOT",
        definition: "Time per output token: (last output minus first output) / (output tokens - 1), one value a streamed \
                     request of at least two tokens.",
        of: |metrics| metrics.tpot_ms.as_ref(),
    },
    Latency {
        label: "Inter-chunk latency",
        definition: "Gaps between consecutive chunks that bore output, all requests together. A chunk may hold several \
                     tokens.",
        of: |metrics| metrics.inter_chunk_latency_ms.as_ref(),
    },
    Latency {
        label: "Request latency",
        definition: "End of the answer minus sent.",
        of: |metrics| metrics.request_latency_ms.as_ref(),
    },
];

/// The latencies that explain the others.
pub(crate) const OTHER_LATENCIES: [Latency; 4] = [
    Latency {
        label: "Latency from schedule",
        definition: "End of the answer minus the time the schedule wanted the request.",
        of: |metrics| metrics.request_latency_from_schedule_ms.as_ref(),
    },
    Latency {
        label: "Time to first content",
        definition: "First content minus sent; reasoning does not count as content.",
        of: |metrics| metrics.time_to_first_content_ms.as_ref(),
    },
    Latency {
        label: "Dependency wait",
        definition: "Due minus recorded, of the turns after a session's first: how long they waited for the turn before.",
        of: |metrics| metrics.dependency_wait_ms.as_ref(),
    },
    Latency {
        label: "Connect",
        definition: "Opening a connection, where one was opened for the request.",
        of: |metrics| metrics.connect_ms.as_ref(),
    },
];

/// What lag is.
pub(crate) const LAG_DEFINITION: &str = "Sent minus due, warm-up included. Absolute: nothing is subtracted, so a constant \
                                         lateness shows. Due is the later of the scheduled time and the end of the turn \
                                         that the request waits for.";

/// What goodput is.
pub(crate) const GOODPUT_DEFINITION: &str = "Completed requests within every limit. The share is of all measured requests \
                                             but those not sent: failed, cancelled and dropped ones are not good, nor is one \
                                             that lacks a value which a limit needs.";

/// What rates are over.
pub(crate) const RATE_DEFINITION: &str = "Completed requests, and their tokens, over the measured span: from the first \
                                          measured request's sending to the last one's end.";

/// The word for a verdict.
pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Succeeded => "Succeeded",
        Verdict::Failed => "Failed",
        Verdict::Cancelled => "Cancelled",
    }
}

/// How a run ended, in a word or two.
pub(crate) fn ending(outcome: Verdict, is_degraded: bool) -> String {
    let degraded = if is_degraded { ", degraded" } else { "" };
    format!("{}{degraded}", verdict(outcome))
}

/// A worker by its index, and how it was lost if it was.
pub(crate) fn worker(result: &WorkerResult) -> String {
    match result.lost {
        None => result.index.to_string(),
        Some(lost) => format!(
            "{}, lost: {} unknown, {} not sent",
            result.index,
            count(lost.unknown),
            count(lost.not_sent)
        ),
    }
}

/// How the plan was split.
pub(crate) fn split(split: &SplitResult) -> String {
    let lag = split
        .lag_p99_spread_ms
        .map(|spread| format!("; lag p99 differs by {} ms", number(spread)));
    format!(
        "{} ({}); {} to {} requests each, the most {} times the mean{}",
        counted(split.workers, "worker", "workers"),
        split.chosen_by,
        count(split.requests_least),
        count(split.requests_most),
        number(split.requests_skew),
        lag.unwrap_or_default()
    )
}

/// How well the workers' clocks agree.
pub(crate) fn clock_error(error: &ClockError) -> String {
    let bound = error
        .bound_ms
        .map(|bound| format!("; known to within {} ms", number(bound)));
    format!(
        "requests were due at most {} ms, on average {} ms, from where the schedule has them{}; in no lag and no latency",
        number(error.max_ms),
        number(error.mean_ms),
        bound.unwrap_or_default()
    )
}

/// What became of the measured requests: each count that is not zero, with its word, the completed ones always first.
pub(crate) fn endings(counts: &Counts) -> Vec<(&'static str, u64)> {
    let others = [
        ("failed", counts.failed),
        ("cancelled", counts.cancelled),
        ("dropped", counts.dropped),
        ("not sent", counts.not_sent),
        ("unknown", counts.unknown),
    ];
    let others = others.into_iter().filter(|(_, count)| *count > 0);
    std::iter::once(("completed", counts.completed))
        .chain(others)
        .collect()
}

/// The limits of goodput, as a sentence has them; the blanks inside one do not break.
pub(crate) fn limits(slo: &SloResult) -> String {
    let limits = [
        ("TTFT", slo.ttft_ms),
        ("TPOT", slo.inter_token_latency_ms),
        ("request latency", slo.request_latency_ms),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, limit)| Some(format!("{name}\u{a0}≤\u{a0}{}\u{a0}ms", limit?)));
    limits.collect::<Vec<_>>().join(", ")
}
