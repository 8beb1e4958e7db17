//! What a reader wants to know first.

use maud::{Markup, html};
use reprise_contract::Summary;
use reprise_contract::summary::{Distribution, Verdict};

use crate::numbers::{count, duration, number, percent};
use crate::words::{self, limits};

/// The name, how it ended and why.
pub(super) fn banner(summary: &Summary) -> Markup {
    let tone = match summary.verdict {
        Verdict::Succeeded if summary.degraded => "unsure",
        Verdict::Succeeded => "good",
        Verdict::Failed => "bad",
        Verdict::Cancelled => "unsure",
    };
    html! {
        header {
            h1 { (summary.name) " " span.verdict.(tone) { (words::ending(summary.verdict, summary.degraded)) } }
            p.about {
                "Started " time datetime=(summary.started_at) { (summary.started_at) }
                " · took " (duration(summary.elapsed_s))
                " · " (summary.provenance.dataset.reference)
            }
            @if let Some(message) = &summary.message { p.message.(tone) { (message) } }
        }
    }
}

/// The headline numbers.
pub(super) fn tiles(summary: &Summary) -> Markup {
    let counts = &summary.counts;
    let metrics = summary.metrics.as_ref();
    let ttft = metrics.and_then(|metrics| metrics.ttft_ms.as_ref());
    let tpot = metrics.and_then(|metrics| metrics.tpot_ms.as_ref());
    let latency = metrics.and_then(|metrics| metrics.request_latency_ms.as_ref());
    html! {
        div.tiles {
            (tile("Completed", &count(counts.completed), "", &format!("of {} measured requests", count(counts.measured))))
            @if let Some(throughput) = &summary.throughput {
                @let span = format!("over {}", duration(throughput.span_s));
                @let in_flight = format!("at most {} requests in flight", count(throughput.peak_in_flight));
                (tile("Throughput", &number(throughput.requests_per_second), "requests/s", &span))
                (tile("Output tokens", &number(throughput.output_tokens_per_second), "tokens/s", &in_flight))
            }
            @if let Some(slo) = &summary.slo {
                (tile("Goodput", &percent(slo.good_share), "", &format!("within {}", limits(slo))))
            }
            @if let Some(ttft) = ttft { (latency_tile("TTFT p50", ttft)) }
            @if let Some(tpot) = tpot { (latency_tile("TPOT p50", tpot)) }
            @if let Some(latency) = latency { (latency_tile("Request latency p50", latency)) }
            @if let Some(lag) = &summary.lag {
                @let late = format!("max {} ms, {} later than {} ms", number(lag.max_ms), count(lag.late), lag.threshold_ms);
                (tile("Lag p99", &number(lag.p99_ms), "ms", &late))
            }
        }
    }
}

fn latency_tile(name: &str, distribution: &Distribution) -> Markup {
    let percentiles = &distribution.percentiles;
    let tail = format!(
        "p90 {} ms, p99 {} ms",
        number(percentiles.p90),
        number(percentiles.p99)
    );
    tile(name, &number(percentiles.p50), "ms", &tail)
}

fn tile(name: &str, value: &str, unit: &str, note: &str) -> Markup {
    html! {
        div.tile {
            span.name { (name) }
            span.value { (value) @if !unit.is_empty() { small { " " (unit) } } }
            span.note { (note) }
        }
    }
}

/// What to know before trusting a number.
pub(super) fn warnings(summary: &Summary) -> Markup {
    html! {
        @if !summary.warnings.is_empty() {
            section.warnings {
                h2 { "Before you trust a number" }
                ul { @for warning in &summary.warnings { li { strong { (warning.code) } " " (warning.message) } } }
            }
        }
    }
}
