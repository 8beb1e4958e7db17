//! A summary as a page: one HTML file that needs nothing else, in light and dark, on a phone and on paper.

mod chart;
mod charts;
mod numbers;
mod overview;
mod provenance;
mod workers;

#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use reprise_contract::Summary;

/// Nothing may be loaded from anywhere; the page's own style and script are all it has.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("pointer.js");

/// Renders the page.
#[must_use]
pub fn render(summary: &Summary) -> String {
    page(summary).into_string()
}

fn page(summary: &Summary) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                title { (summary.name) " · Reprise" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (overview::banner(summary))
                    (overview::tiles(summary))
                    (overview::warnings(summary))
                    (over_time(summary))
                    (latency(summary))
                    (numbers::requests(summary))
                    (workers::workers(summary))
                    (provenance::provenance(summary))
                    (provenance::job(summary))
                    (provenance::definitions(summary))
                    (numbers::series(summary))
                }
                footer { "Reprise " (summary.provenance.reprise_version) " · " (summary.schema_version) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn over_time(summary: &Summary) -> Markup {
    let charts = charts::over_time(summary);
    html! {
        @if !charts.is_empty() {
            section {
                h2 { "Over time" }
                div.charts { @for chart in &charts { (chart.render()) } }
            }
        }
    }
}

fn latency(summary: &Summary) -> Markup {
    html! {
        @if let Some(metrics) = &summary.metrics {
            section {
                h2 { "Latency" }
                div.charts { @for chart in charts::percentiles(metrics) { (chart.render()) } }
                (numbers::latencies(metrics))
                (numbers::tokens(metrics))
            }
        }
    }
}
