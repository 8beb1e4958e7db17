//! What is said of workers that were lost.

use reprise_contract::summary::Counts;

use super::Workers;
use crate::numbers::{count, counted};

/// Names at most so many workers.
const MOST_NAMED: usize = 5;

/// A sentence about the lost workers and their requests; `None` when none was lost.
pub(super) fn lost(counts: &Counts, workers: &Workers) -> Option<String> {
    let indexes: Vec<usize> = workers.lost().map(|(index, _)| index).collect();
    if indexes.is_empty() {
        return None;
    }
    let (unknown, not_sent) = workers.lost().fold((0, 0), |(unknown, not_sent), (_, loss)| {
        (unknown + loss.unknown, not_sent + loss.not_sent)
    });
    Some(format!(
        "Lost {} after the start: of {} planned requests, {} may have been sent and nothing is known of them, and {} \
         certainly not sent.",
        named(&indexes),
        count(counts.planned),
        count(unknown),
        counted(not_sent, "was", "were"),
    ))
}

/// `worker 3`, or `workers 1, 2 and 7 more`.
pub(super) fn named(indexes: &[usize]) -> String {
    let names: Vec<String> = indexes.iter().take(MOST_NAMED).map(usize::to_string).collect();
    let names = names.join(", ");
    match indexes.len() {
        1 => format!("worker {names}"),
        all if all > MOST_NAMED => format!("workers {names} and {} more", all - MOST_NAMED),
        _ => format!("workers {names}"),
    }
}
