//! What was chosen, what ran, and what the words mean.

use maud::{Markup, html};
use reprise_contract::Summary;
use reprise_contract::summary::{DatasetFile, Pin, PinnedBy, TokenizerProvenance};

use crate::job;
use crate::numbers::count;
use crate::words::{GOODPUT_DEFINITION, LAG_DEFINITION, MAIN_LATENCIES, OTHER_LATENCIES, RATE_DEFINITION};

/// What was chosen, by whom and with which digests.
pub(super) fn provenance(summary: &Summary) -> Markup {
    let provenance = &summary.provenance;
    let (dataset, schedule) = (&provenance.dataset, &provenance.schedule);
    let pinned = [
        ("Reference", Some(dataset.reference.clone())),
        ("Version", dataset.pin.as_ref().map(version)),
        (
            "Runs it again",
            dataset.pin.as_ref().and_then(|pin| pin.canonical.clone()),
        ),
        ("Manifest", dataset.manifest.as_ref().map(file)),
        ("Tokenizer", dataset.tokenizer.as_ref().map(tokenizer)),
    ];
    let pinned = pinned
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let made = [
        (
            "Stored as",
            format!(
                "{} bytes, compression {}",
                count(dataset.bytes),
                dataset.compression
            ),
        ),
        ("SHA-256 as stored", dataset.sha256.clone()),
        ("SHA-256 decompressed", dataset.trace_sha256.clone()),
        (
            "Format",
            format!("{} ({})", dataset.format, dataset.format_chosen_by),
        ),
        (
            "Trace",
            format!(
                "{} records, {} sessions",
                count(dataset.records),
                count(dataset.sessions)
            ),
        ),
        ("Content digest", dataset.content_digest.clone()),
        (
            "Corpus",
            dataset
                .corpus
                .clone()
                .unwrap_or_else(|| "none: nothing was synthesised".to_owned()),
        ),
        ("Seed", dataset.seed.to_string()),
        (
            "Schedule",
            format!(
                "{}, {} requests, {} records left out",
                schedule.mode,
                count(schedule.requests),
                count(schedule.left_out)
            ),
        ),
        ("Schedule hash", schedule.hash.clone()),
        (
            "Target",
            format!(
                "{} ({})",
                provenance.target.urls.join(", "),
                provenance.target.api
            ),
        ),
        (
            "Sent from",
            format!(
                "{}, {} threads",
                provenance.host.platform, provenance.host.threads
            ),
        ),
        ("Reprise", provenance.reprise_version.clone()),
    ];
    html! {
        section {
            h2 { "Provenance" }
            div.scroll {
                table.pairs.wide {
                    tbody { @for (name, value) in pinned.chain(made) { tr { th scope="row" { (name) } td.text { (value) } } } }
                }
            }
            p.about { "Equal content digests send equal bodies under equal templates; equal schedule hashes offer the same load." }
        }
    }
}

fn version(pin: &Pin) -> String {
    let by = match pin.pinned_by {
        PinnedBy::Reference => "named by the reference",
        PinnedBy::Spec => "named by dataset.version",
        PinnedBy::Run => "the newest when the run began",
        PinnedBy::Cache => "the newest on this machine, without asking the source",
    };
    match &pin.version {
        Some(version) => format!("{version} ({by})"),
        None => "not told by the server, so it cannot be had again for sure".to_owned(),
    }
}

fn file(file: &DatasetFile) -> String {
    format!(
        "{}, {} bytes, SHA-256 {}",
        file.name,
        count(file.bytes),
        file.sha256
    )
}

fn tokenizer(tokenizer: &TokenizerProvenance) -> String {
    let version = tokenizer.pin.as_ref().map(version);
    let of_version = version.map_or_else(String::new, |version| format!(", version {version}"));
    format!(
        "{}{of_version}, {} files",
        tokenizer.reference,
        tokenizer.files.len()
    )
}

/// The job as it ran.
pub(super) fn job(summary: &Summary) -> Markup {
    // Whatever has no YAML still has JSON, which says the same.
    let yaml = job::yaml(summary).unwrap_or_else(|_| summary.spec.to_string());
    html! {
        details {
            summary { "The ReplayJob as it ran, defaults filled in" }
            pre { code { (yaml) } }
        }
    }
}

/// What each metric is.
pub(super) fn definitions(summary: &Summary) -> Markup {
    html! {
        details {
            summary { "What the numbers mean" }
            dl {
                @for latency in MAIN_LATENCIES.iter().chain(&OTHER_LATENCIES) { dt { (latency.label) } dd { (latency.definition) } }
                dt { "Lag" } dd { (LAG_DEFINITION) }
                dt { "Throughput" } dd { (RATE_DEFINITION) }
                dt { "Goodput" } dd { (GOODPUT_DEFINITION) }
                dt { "Percentiles" } dd { (summary.percentile_method) }
                dt { "Who counts" }
                dd {
                    "Latencies and tokens are over completed measured requests; one that failed, was cut or was cancelled is in none \
                     of them. Lag, and the counts in the charts over time, include warm-up."
                }
            }
        }
    }
}
