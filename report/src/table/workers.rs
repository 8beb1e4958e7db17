//! What each of many workers did.

use comfy_table::Cell;
use reprise_contract::Summary;
use reprise_contract::summary::{WorkerLag, WorkerResult};

use super::{heading, right};
use crate::columns::{table, text};
use crate::numbers::{count, number};
use crate::words;

/// A terminal shows no more workers than these; the page shows all.
const MOST_ROWS: usize = 16;

/// The workers: all of them, or the lost ones and then the latest ones. `None` where there are not several.
pub(super) fn workers(summary: &Summary, width: u16) -> Option<String> {
    if summary.workers.len() < 2 {
        return None;
    }
    let (title, rows) = shown(&summary.workers);
    let mut table = table(width);
    table.set_header(heading([
        title,
        "requests",
        "sent",
        "completed",
        "failed",
        "lag p99 ms",
        "lag max ms",
        "clock ± ms",
    ]));
    for result in rows {
        let lag = |of: fn(&WorkerLag) -> f64| result.lag.as_ref().map(of).map(number).unwrap_or_default();
        let clock = result.clock.map(|clock| number(clock.error_ms));
        let name = words::worker(result);
        let numbers = [
            count(result.requests),
            count(result.sent),
            count(result.completed),
            count(result.failed),
            lag(|lag| lag.p99_ms),
            lag(|lag| lag.max_ms),
            clock.unwrap_or_default(),
        ];
        table.add_row(std::iter::once(Cell::new(name)).chain(numbers.map(right)));
    }
    Some(text(table))
}

/// What goes into the table, under which title.
fn shown(workers: &[WorkerResult]) -> (&'static str, Vec<&WorkerResult>) {
    let mut rows: Vec<_> = workers.iter().collect();
    if rows.len() <= MOST_ROWS {
        return ("Worker", rows);
    }
    let p99_ms = |result: &WorkerResult| result.lag.map_or(f64::NEG_INFINITY, |lag| lag.p99_ms);
    rows.sort_by(|one, other| {
        let lost_first = one.lost.is_none().cmp(&other.lost.is_none());
        lost_first.then(p99_ms(other).total_cmp(&p99_ms(one)))
    });
    rows.truncate(MOST_ROWS);
    ("Latest workers", rows)
}
