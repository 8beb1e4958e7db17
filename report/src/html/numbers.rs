//! The numbers in tables.

use std::collections::BTreeMap;

use maud::{Markup, html};
use reprise_contract::Summary;
use reprise_contract::summary::{Counts, Distribution, Lag, Metrics, Percentiles, SloResult, Throughput};

use crate::numbers::{count, duration, number, percent, whole};
use crate::words::{GOODPUT_DEFINITION, LAG_DEFINITION, MAIN_LATENCIES, OTHER_LATENCIES, RATE_DEFINITION};

/// Every latency with its percentiles.
pub(super) fn latencies(metrics: &Metrics) -> Markup {
    let rows: Vec<_> = MAIN_LATENCIES
        .iter()
        .chain(&OTHER_LATENCIES)
        .filter_map(|latency| Some((latency, (latency.of)(metrics)?)))
        .collect();
    html! {
        div.scroll {
            table {
                caption { "Latencies in milliseconds, over completed requests" }
                (distribution_heading("Latency"))
                tbody {
                    @for (latency, distribution) in rows {
                        tr { th scope="row" title=(latency.definition) { (latency.label) } (distribution_cells(distribution, number)) }
                    }
                }
            }
        }
    }
}

/// How many tokens, and who counted them.
pub(super) fn tokens(metrics: &Metrics) -> Markup {
    let rows = [
        (
            "Input tokens",
            &metrics.input_tokens,
            &metrics.input_token_sources,
        ),
        (
            "Output tokens",
            &metrics.output_tokens,
            &metrics.output_token_sources,
        ),
    ];
    html! {
        @if rows.iter().any(|row| row.1.is_some()) {
            div.scroll {
                table {
                    caption { "Tokens a request" }
                    (distribution_heading("Tokens"))
                    tbody {
                        @for (name, distribution, _) in rows {
                            @if let Some(distribution) = distribution {
                                tr { th scope="row" { (name) } (distribution_cells(distribution, whole)) }
                            }
                        }
                    }
                }
            }
            p.about {
                "Counted by: input " (sources(&metrics.input_token_sources)) "; output " (sources(&metrics.output_token_sources)) "."
                @if let Some(share) = metrics.cached_input_share { " " (percent(share)) " of the prompt tokens came from the server's cache." }
            }
        }
    }
}

fn sources(sources: &BTreeMap<String, u64>) -> String {
    let list: Vec<_> = sources
        .iter()
        .map(|(source, requests)| format!("{source} ({})", count(*requests)))
        .collect();
    if list.is_empty() {
        "nobody".to_owned()
    } else {
        list.join(", ")
    }
}

fn distribution_heading(first: &str) -> Markup {
    html! {
        thead {
            tr {
                th scope="col" { (first) }
                @for name in ["mean", "σ", "min", "p1", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max", "values"] {
                    th scope="col" { (name) }
                }
            }
        }
    }
}

fn distribution_cells(distribution: &Distribution, shown: fn(f64) -> String) -> Markup {
    let Distribution {
        mean,
        std_dev,
        min,
        max,
        percentiles,
        ..
    } = distribution;
    let Percentiles {
        p1,
        p10,
        p25,
        p50,
        p75,
        p90,
        p95,
        p99,
        p999,
        ..
    } = percentiles;
    html! {
        td { (number(*mean)) }
        td { (number(*std_dev)) }
        @for value in [min, p1, p10, p25, p50, p75, p90, p95, p99, p999, max] { td { (shown(*value)) } }
        td { (count(distribution.count)) }
    }
}

/// What became of the requests, how fast and how late they went.
pub(super) fn requests(summary: &Summary) -> Markup {
    html! {
        section {
            h2 { "Requests" }
            div.tables {
                (counts(&summary.counts))
                @if let Some(throughput) = &summary.throughput { (rates(throughput)) }
                @if let Some(lag) = &summary.lag { (lags(lag)) }
                @if let Some(slo) = &summary.slo { (goodput(slo)) }
            }
            (failures(&summary.counts))
        }
    }
}

fn counts(counts: &Counts) -> Markup {
    let rows = [
        ("Planned", counts.planned),
        ("Warm-up", counts.warmup),
        ("Measured", counts.measured),
        ("Sent", counts.sent),
        ("Completed", counts.completed),
        ("Failed", counts.failed),
        ("Cancelled", counts.cancelled),
        ("Dropped as too late", counts.dropped),
        ("Not sent", counts.not_sent),
        ("Unknown", counts.unknown),
        ("Length mismatches", counts.output_length_mismatches),
        ("Sessions sent in part", counts.partial_sessions),
    ];
    pairs(
        "Counts",
        rows.map(|(name, number)| (name, count(number))),
        "Planned = warm-up + measured + unknown; measured = completed + failed + cancelled + dropped + not sent.",
    )
}

fn rates(throughput: &Throughput) -> Markup {
    let rows = [
        (
            "Requests",
            format!("{}/s", number(throughput.requests_per_second)),
        ),
        (
            "Output tokens",
            format!("{}/s", number(throughput.output_tokens_per_second)),
        ),
        (
            "Input tokens",
            format!("{}/s", number(throughput.input_tokens_per_second)),
        ),
        ("Measured span", duration(throughput.span_s)),
        ("Sending span", duration(throughput.sending_span_s)),
        ("Most in flight", count(throughput.peak_in_flight)),
    ];
    pairs("Throughput", rows, RATE_DEFINITION)
}

fn lags(lag: &Lag) -> Markup {
    let ms = |value: f64| format!("{} ms", number(value));
    let rows = [
        ("Least", ms(lag.min_ms)),
        ("p50", ms(lag.p50_ms)),
        ("p90", ms(lag.p90_ms)),
        ("p99", ms(lag.p99_ms)),
        ("Greatest", ms(lag.max_ms)),
        ("Threshold", format!("{} ms", lag.threshold_ms)),
        (
            "Later than that",
            format!("{} of {}", count(lag.late), count(lag.count)),
        ),
    ];
    pairs("Lag", rows, LAG_DEFINITION)
}

fn goodput(slo: &SloResult) -> Markup {
    let limit = |name, limit: Option<f64>| Some((name, format!("{} ms", limit?)));
    let limits = [
        limit("TTFT limit", slo.ttft_ms),
        limit("TPOT limit", slo.inter_token_latency_ms),
        limit("Latency limit", slo.request_latency_ms),
    ];
    let results = [
        ("Good", count(slo.good)),
        ("Share", percent(slo.good_share)),
        ("Goodput", format!("{}/s", number(slo.goodput_per_second))),
    ];
    pairs(
        "Goodput",
        limits.into_iter().flatten().chain(results),
        GOODPUT_DEFINITION,
    )
}

fn pairs<'a>(caption: &str, rows: impl IntoIterator<Item = (&'a str, String)>, note: &str) -> Markup {
    html! {
        div {
            table.pairs {
                caption { (caption) }
                tbody { @for (name, value) in rows { tr { th scope="row" { (name) } td { (value) } } } }
            }
            p.about { (note) }
        }
    }
}

fn failures(counts: &Counts) -> Markup {
    html! {
        @if !counts.failures.is_empty() || !counts.not_sent_by_reason.is_empty() {
            div.scroll {
                table.failures {
                    caption { "Not completed, by cause" }
                    thead { tr { th scope="col" { "Cause" } th scope="col" { "Requests" } th scope="col" { "The first one said" } } }
                    tbody {
                        @for (cause, failure) in &counts.failures {
                            tr { th scope="row" { "failed: " (cause) } td { (count(failure.count)) } td.text { (failure.example) } }
                        }
                        @for (reason, number) in &counts.not_sent_by_reason {
                            tr { th scope="row" { "not sent: " (reason) } td { (count(*number)) } td.text {} }
                        }
                    }
                }
            }
        }
    }
}

/// What the charts over time show, as numbers.
pub(super) fn series(summary: &Summary) -> Markup {
    let series = &summary.series;
    let ms = |value: Option<&Option<f64>>| value.copied().flatten().map(number).unwrap_or_default();
    let at =
        |counts: &[u32], slice: usize| counts.get(slice).map(|&number| count(number)).unwrap_or_default();
    html! {
        @if !series.sent.is_empty() {
            details.series {
                summary { "The charts over time as numbers" }
                div.scroll {
                    table {
                        caption { "Slices of " (series.slice_s) " s from T0" }
                        thead {
                            tr {
                                @for name in [
                                    "from s", "scheduled", "sent", "completed", "failed", "in flight", "output tokens", "greatest lag ms",
                                    "TTFT p50 ms", "latency p50 ms",
                                ] { th scope="col" { (name) } }
                            }
                        }
                        tbody {
                            @for slice in 0..series.sent.len() {
                                tr {
                                    th scope="row" { (number(slice as f64 * series.slice_s)) }
                                    td { (at(&series.recorded, slice)) }
                                    td { (at(&series.sent, slice)) }
                                    td { (at(&series.completed, slice)) }
                                    td { (at(&series.failed, slice)) }
                                    td { (at(&series.in_flight, slice)) }
                                    td { (series.output_tokens.get(slice).map(|&tokens| count(tokens)).unwrap_or_default()) }
                                    td { (ms(series.lag_max_ms.get(slice))) }
                                    td { (ms(series.ttft_p50_ms.get(slice))) }
                                    td { (ms(series.latency_p50_ms.get(slice))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
