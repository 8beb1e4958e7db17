//! What each of many workers did.

use maud::{Markup, html};
use reprise_contract::Summary;
use reprise_contract::summary::WorkerResult;

use crate::numbers::{count, number};
use crate::words;

/// The workers, where there are several.
pub(super) fn workers(summary: &Summary) -> Markup {
    html! {
        @if summary.workers.len() > 1 {
            section {
                h2 { "Workers" }
                @if let Some(split) = &summary.split { p.about { (words::split(split)) } }
                @if let Some(error) = &summary.clock_error { p.about { (words::clock_error(error)) } }
                div.scroll {
                    table {
                        caption { "What each worker did, warm-up included" }
                        thead {
                            tr {
                                @for name in [
                                    "Worker", "requests", "sent", "completed", "failed", "lag p50 ms", "lag p99 ms", "lag max ms", "clock ± ms",
                                    "drift ppm", "round trips",
                                ] { th scope="col" { (name) } }
                            }
                        }
                        tbody { @for result in &summary.workers { (row(result)) } }
                    }
                }
            }
        }
    }
}

fn row(result: &WorkerResult) -> Markup {
    let lag = result
        .lag
        .map(|lag| [lag.p50_ms, lag.p99_ms, lag.max_ms].map(number));
    let clock = result.clock.map(|clock| {
        [
            number(clock.error_ms),
            number(clock.drift_ppm),
            count(clock.samples),
        ]
    });
    html! {
        tr {
            th scope="row" { (words::worker(result)) }
            @for counted in [result.requests, result.sent, result.completed, result.failed] { td { (count(counted)) } }
            @for cell in lag.unwrap_or_default().into_iter().chain(clock.unwrap_or_default()) { td { (cell) } }
        }
    }
}
