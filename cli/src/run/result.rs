//! From outcomes to the files of a result, and to the terminal.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use reprise_content::corpus;
use reprise_contract::Summary;
use reprise_contract::summary::{DatasetProvenance, Host, Provenance};
use reprise_crds::ReplayJobSpec;
use reprise_crds::document::Document;
use reprise_report::{EndedBy, Input, Limits, analyse, files, table};
use reprise_worker::StopCause;

use super::measure::Measured;
use crate::exit::{Done, Failure};
use crate::prepare::Prepared;
use crate::terminal;

/// Columns of a table where there is no terminal to ask.
const DEFAULT_WIDTH: u16 = 100;

/// Computes the summary and writes the files of the result.
pub(super) fn summarise(
    document: &Document,
    prepared: &Prepared,
    measured: Measured,
    folder: &Path,
) -> Result<Summary, Failure> {
    let spec = document.spec();
    let replayed = measured.replayed;
    let started_at = Timestamp::try_from(replayed.t0)?;
    let input = Input {
        name: document.name().to_owned(),
        spec: effective_spec(spec, &prepared.source.reference)?,
        provenance: Provenance {
            reprise_version: env!("CARGO_PKG_VERSION").to_owned(),
            dataset: dataset_provenance(prepared, spec.replay.seed),
            schedule: measured.schedule,
            target: measured.target,
            host: Host {
                platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
                threads: u32::try_from(replayed.threads.get()).unwrap_or(u32::MAX),
            },
        },
        warnings: measured.warnings,
        started_at: started_at.to_string(),
        ended_by: match replayed.stopped {
            None => EndedBy::Completion,
            Some(StopCause::Cancelled) => EndedBy::Cancel,
            Some(StopCause::Aborted(message)) => EndedBy::Abort { message },
        },
        planned: measured.planned,
        limits: Limits {
            slo: spec.slo.map(|slo| reprise_report::Slo {
                ttft: slo.ttft.map(reprise_crds::TimeSpan::get),
                inter_token_latency: slo.inter_token_latency.map(reprise_crds::TimeSpan::get),
                request_latency: slo.request_latency.map(reprise_crds::TimeSpan::get),
            }),
            late_threshold: spec.replay.late_threshold.get(),
        },
    };
    let summary = analyse(input, &measured.outcomes, &replayed.gaps)?;
    if !spec.results.per_request {
        std::fs::remove_file(&measured.outcomes)?;
    }
    files::write_all(folder, &summary)?;
    Ok(summary)
}

/// The spec with all defaults, the reference to its trace as it may be shown: a presigned URL is a credential.
fn effective_spec(spec: &ReplayJobSpec, reference: &str) -> Result<serde_json::Value, serde_json::Error> {
    let mut shown = spec.clone();
    reference.clone_into(&mut shown.dataset.source);
    reprise_crds::effective(&shown)
}

fn dataset_provenance(prepared: &Prepared, seed: u64) -> DatasetProvenance {
    let source = &prepared.source;
    DatasetProvenance {
        reference: source.reference.clone(),
        bytes: source.bytes,
        sha256: source.sha256.to_string(),
        compression: source.compression.to_string(),
        trace_sha256: source.trace_sha256.to_string(),
        format: prepared.format.name().to_owned(),
        format_chosen_by: if prepared.is_format_detected {
            "detected"
        } else {
            "spec"
        }
        .to_owned(),
        records: u64::from(prepared.facts.records),
        sessions: u64::from(prepared.facts.sessions),
        content_digest: prepared.content.digest().to_string(),
        corpus: prepared.has_corpus_text.then(|| corpus::NAME.to_owned()),
        seed,
    }
}

/// Prints the summary and says where the files are.
pub(super) fn show(summary: &Summary, folder: PathBuf, as_json: bool) -> Result<Done, Failure> {
    if as_json {
        println!("{}", serde_json::to_string_pretty(summary)?);
    } else {
        print!(
            "{}",
            table::render(summary, terminal::width().unwrap_or(DEFAULT_WIDTH))
        );
        println!("\nResults: {}", folder.display());
    }
    Ok(Done::Replayed(summary.verdict))
}
