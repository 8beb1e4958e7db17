//! From outcomes to the files of a result, and to the terminal.

use std::path::Path;

use jiff::Timestamp;
use reprise_content::corpus;
use reprise_content::schedule::Load;
use reprise_contract::Summary;
use reprise_contract::summary::{DatasetProvenance, Host, PinnedBy, Provenance};
use reprise_crds::document::Document;
use reprise_crds::{ReplayJobSpec, Results, Schedule, TraceFormat};
use reprise_dataset::Format;
use reprise_report::{EndedBy, Input, Limits, analyse, files, table};
use reprise_worker::StopCause;

use super::measure::{Measured, OUTCOMES_FILE};
use crate::exit::Failure;
use crate::output::{print, print_json};
use crate::prepare::{FormatChoice, Prepared};
use crate::terminal;

/// Columns of a table where there is no terminal to ask.
const DEFAULT_WIDTH: u16 = 100;

/// Computes the summary and writes the files of the result.
pub(super) fn summarise(
    document: &Document,
    prepared: &Prepared,
    measured: Measured,
) -> Result<Summary, Failure> {
    let spec = document.spec();
    let replayed = measured.replayed;
    let started_at = Timestamp::try_from(replayed.t0)?;
    let input = Input {
        name: document.name().to_owned(),
        spec: effective_spec(spec, prepared, &measured.load)?,
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
    Ok(analyse(input, &measured.outcomes, &replayed.gaps)?)
}

/// Writes the files of the result.
pub(super) fn write(summary: &Summary, folder: &Path, results: &Results) -> Result<(), Failure> {
    files::write_all(folder, summary)?;
    if !results.per_request {
        std::fs::remove_file(folder.join(OUTCOMES_FILE))?;
    }
    Ok(())
}

/// The spec as it ran: all defaults, and what was chosen where it left a choice. The reference to its trace is as it may be
/// shown: a presigned URL is a credential.
fn effective_spec(
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    load: &Load,
) -> Result<serde_json::Value, serde_json::Error> {
    let mut shown = spec.clone();
    shown.dataset.source.clone_from(&prepared.source.reference);
    if let Some(pin) = &prepared.record.pin
        && pin.pinned_by != PinnedBy::Reference
    {
        shown.dataset.version.clone_from(&pin.version);
    }
    shown.dataset.format = Some(match prepared.format {
        Format::MooncakeTrace => TraceFormat::MooncakeTrace,
        Format::WorkloadTrace => TraceFormat::WorkloadTrace,
    });
    shown.replay.schedule = match load {
        Load::Recorded { .. } => Schedule::Recorded,
        Load::Rate(_) => Schedule::Rate,
        Load::Concurrency(sessions) => {
            shown.replay.concurrency = Some(*sessions);
            Schedule::Concurrency
        }
    };
    reprise_crds::effective(&shown)
}

fn dataset_provenance(prepared: &Prepared, seed: u64) -> DatasetProvenance {
    let source = &prepared.source;
    DatasetProvenance {
        reference: source.reference.clone(),
        pin: prepared.record.pin.clone(),
        manifest: prepared.record.manifest.clone(),
        tokenizer: prepared.record.tokenizer.clone(),
        bytes: source.bytes,
        sha256: source.sha256.to_string(),
        compression: source.compression.to_string(),
        trace_sha256: source.trace_sha256.to_string(),
        files: prepared.files.clone(),
        format: prepared.format.name().to_owned(),
        format_chosen_by: match prepared.format_choice {
            FormatChoice::Spec => "spec",
            FormatChoice::Manifest => "manifest",
            FormatChoice::Detected => "detected",
        }
        .to_owned(),
        records: u64::from(prepared.facts.records),
        sessions: u64::from(prepared.facts.sessions),
        content_digest: prepared.content.digest().to_string(),
        corpus: prepared.has_corpus_text.then(|| corpus::NAME.to_owned()),
        seed,
    }
}

/// Prints the summary.
pub(super) fn show(summary: &Summary, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print_json(summary);
    }
    let width = terminal::width().unwrap_or(DEFAULT_WIDTH);
    print(&table::render(summary, width))
}
