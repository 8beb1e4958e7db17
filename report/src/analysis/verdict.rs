//! How a run ended, and why.

use reprise_contract::summary::{Counts, Verdict};

use super::EndedBy;

/// The verdict, and its reason where there is more to say. Numbers never excuse a run: one that measured nothing, or lost
/// sight of a request, has failed.
pub(super) fn verdict(counts: &Counts, ended_by: &EndedBy) -> (Verdict, Option<String>) {
    if counts.unknown > 0 {
        return (Verdict::Failed, Some(unaccounted(counts)));
    }
    match ended_by {
        EndedBy::Abort { message } => (Verdict::Failed, Some(message.clone())),
        EndedBy::Cancel if counts.completed == 0 => (
            Verdict::Cancelled,
            Some(format!("The run was cancelled. {}", nothing_measured(counts))),
        ),
        EndedBy::Cancel => {
            let message = format!(
                "The run was cancelled after {} of {} measured requests.",
                counts.completed + counts.failed,
                counts.measured
            );
            (Verdict::Cancelled, Some(message))
        }
        EndedBy::Completion if counts.completed == 0 => (Verdict::Failed, Some(nothing_measured(counts))),
        EndedBy::Completion => (Verdict::Succeeded, None),
    }
}

fn unaccounted(counts: &Counts) -> String {
    format!(
        "{} of {} planned requests are unaccounted for: {} warm-up + {} completed + {} failed + {} cancelled + {} dropped + \
         {} not sent = {}.",
        counts.unknown,
        counts.planned,
        counts.warmup,
        counts.completed,
        counts.failed,
        counts.cancelled,
        counts.dropped,
        counts.not_sent,
        counts.warmup + counts.measured,
    )
}

fn nothing_measured(counts: &Counts) -> String {
    if counts.measured == 0 {
        return format!(
            "Nothing was measured: none of the {} planned requests is a measured one.",
            counts.planned
        );
    }
    if counts.failed == counts.measured {
        return format!(
            "All {} measured requests failed: {}.",
            counts.measured,
            causes(counts)
        );
    }
    let not_sent = counts
        .not_sent_by_reason
        .iter()
        .map(|(reason, count)| format!("{count} not sent ({reason})"));
    let parts = [
        (counts.failed > 0).then(|| format!("{} failed ({})", counts.failed, causes(counts))),
        (counts.cancelled > 0).then(|| format!("{} cancelled", counts.cancelled)),
        (counts.dropped > 0).then(|| format!("{} dropped", counts.dropped)),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().chain(not_sent).collect();
    format!(
        "Nothing was measured: of {} measured requests, {}.",
        counts.measured,
        parts.join(", ")
    )
}

fn causes(counts: &Counts) -> String {
    let mut causes: Vec<_> = counts.failures.iter().collect();
    causes.sort_by_key(|(_, failure)| std::cmp::Reverse(failure.count));
    let causes = causes.into_iter().map(|(cause, failure)| {
        if failure.example.is_empty() {
            format!("{} {cause}", failure.count)
        } else {
            format!("{} {cause} ({})", failure.count, failure.example)
        }
    });
    causes.collect::<Vec<_>>().join(", ")
}
