//! How a run ended, and why.

use reprise_contract::FailureCause;
use reprise_contract::summary::{Counts, Failure, Verdict};

use super::{EndedBy, OnLoss, Workers, loss};

/// The verdict, and its reason where there is more to say. Numbers never excuse a run: one that measured nothing, measured
/// only the generator's own limits, lost a worker that it was not to lose, or lost sight of a request, has failed.
pub(super) fn verdict(
    counts: &Counts,
    ended_by: &EndedBy,
    workers: Option<&Workers>,
) -> (Verdict, Option<String>) {
    let of_lost = workers.map_or(0, |workers| workers.lost().map(|(_, loss)| loss.unknown).sum());
    if counts.unknown != of_lost {
        return (Verdict::Failed, Some(unaccounted(counts)));
    }
    if let Some(workers) = workers.filter(|workers| workers.on_loss == OnLoss::Fail)
        && let Some(lost) = loss::lost(counts, workers)
    {
        return (
            Verdict::Failed,
            Some(format!(
                "{lost} The run has failed, as workers.lossPolicy is Fail."
            )),
        );
    }
    match (ended_by, counts.failures.get(FailureCause::LocalLimit.name())) {
        (EndedBy::Abort { message }, _) => (Verdict::Failed, Some(message.clone())),
        (_, Some(failure)) => (Verdict::Failed, Some(local_limit(counts, failure))),
        (EndedBy::Deadline, _) => {
            let message = format!("The run's deadline passed after {}.", so_far(counts));
            (Verdict::Failed, Some(message))
        }
        (EndedBy::Cancel, _) if counts.completed == 0 => (
            Verdict::Cancelled,
            Some(format!("The run was cancelled. {}", nothing_measured(counts))),
        ),
        (EndedBy::Cancel, _) => {
            let message = format!("The run was cancelled after {}.", so_far(counts));
            (Verdict::Cancelled, Some(message))
        }
        (EndedBy::Completion, _) if counts.completed == 0 => {
            (Verdict::Failed, Some(nothing_measured(counts)))
        }
        (EndedBy::Completion, _) if counts.completed_without_output == counts.completed => {
            (Verdict::Failed, Some(no_output(counts)))
        }
        (EndedBy::Completion, _) => (Verdict::Succeeded, None),
    }
}

fn so_far(counts: &Counts) -> String {
    format!(
        "{} of {} measured requests",
        counts.completed + counts.failed,
        counts.measured
    )
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

fn local_limit(counts: &Counts, failure: &Failure) -> String {
    format!(
        "The generator ran out of file descriptors or local ports for {} of {} measured requests{}; its numbers say nothing \
         about the endpoint.",
        failure.count,
        counts.measured,
        example(failure),
    )
}

fn no_output(counts: &Counts) -> String {
    format!(
        "The endpoint answered, but with no output: none of {} completed requests bore any.",
        counts.completed
    )
}

/// What the first failure said, in parentheses after a blank; empty where it said nothing.
fn example(failure: &Failure) -> String {
    if failure.example.is_empty() {
        String::new()
    } else {
        format!(" ({})", failure.example)
    }
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
    let causes = causes
        .into_iter()
        .map(|(cause, failure)| format!("{} {cause}{}", failure.count, example(failure)));
    causes.collect::<Vec<_>>().join(", ")
}
