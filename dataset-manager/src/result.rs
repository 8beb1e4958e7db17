//! From outcomes to the files of a result.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use reprise_content::corpus;
use reprise_content::schedule::Load;
use reprise_contract::summary::{
    DatasetProvenance, Host, PinnedBy, Provenance, ScheduleProvenance, TargetProvenance, Warning,
};
use reprise_contract::{Histogram, Summary};
use reprise_crds::{ReplayJobSpec, Results, Schedule, TraceFormat};
use reprise_dataset::Format;
use reprise_report::{AnalyseError, EndedBy, Input, Limits, analyse, files};

use crate::planned::Planned;
use crate::prepare::{FormatChoice, Prepared};

/// Where outcomes lie in the folder for results.
pub const OUTCOMES_FILE: &str = "outcomes.parquet";

/// What a run left, besides its outcomes.
#[derive(Clone, Debug)]
pub struct Finished {
    /// T0 on the wall clock.
    pub started_at: Timestamp,
    /// What ended it.
    pub ended_by: EndedBy,
    /// Threads that sent.
    pub threads: u32,
    /// The gaps between output-bearing chunks of all measured and completed answers.
    pub gaps: Histogram,
    /// What was noticed while it ran.
    pub warnings: Vec<Warning>,
    /// The workers, where there were any; `None` where one process did it all.
    pub workers: Option<reprise_report::Workers>,
}

/// A result that does not come to lie in its folder.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The outcomes give no numbers.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
    /// A file could not be written.
    #[error(transparent)]
    Files(#[from] files::ResultError),
    /// The spec has no JSON.
    #[error("Cannot write the spec as JSON: {0}. This is a fault in Reprise.")]
    Spec(#[from] serde_json::Error),
    /// The outcomes are not wanted, and cannot be removed.
    #[error("Cannot remove {}: {source}. Check the permissions of its folder.", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Computes the summary of a run whose outcomes lie in `folder`.
///
/// # Errors
/// When the outcomes cannot be read, or do not belong to the plan.
pub fn summarise(
    name: &str,
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    planned: &Planned,
    finished: Finished,
    folder: &Path,
) -> Result<Summary, ResultError> {
    let Finished {
        started_at,
        ended_by,
        threads,
        gaps,
        warnings,
        workers,
    } = finished;
    let head = &planned.head;
    let input = Input {
        name: name.to_owned(),
        spec: effective_spec(spec, prepared, &planned.load)?,
        provenance: Provenance {
            reprise_version: env!("CARGO_PKG_VERSION").to_owned(),
            dataset: dataset_provenance(prepared, spec.replay.seed),
            schedule: ScheduleProvenance {
                mode: head.mode.name().to_owned(),
                hash: head.schedule_hash.to_string(),
                requests: u64::from(head.requests),
                left_out: u64::from(planned.schedule.left_out.total()),
            },
            target: TargetProvenance {
                urls: head.targets.clone(),
                api: head.template.api.name().to_owned(),
            },
            host: Host {
                platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
                threads,
            },
        },
        warnings: planned.warnings.iter().cloned().chain(warnings).collect(),
        started_at: started_at.to_string(),
        ended_by,
        planned: u64::from(head.requests),
        limits: Limits {
            slo: spec.slo.map(|slo| reprise_report::Slo {
                ttft: slo.ttft.map(reprise_crds::TimeSpan::get),
                inter_token_latency: slo.inter_token_latency.map(reprise_crds::TimeSpan::get),
                request_latency: slo.request_latency.map(reprise_crds::TimeSpan::get),
            }),
            late_threshold: spec.replay.late_threshold.get(),
        },
        workers,
    };
    Ok(analyse(input, &folder.join(OUTCOMES_FILE), &gaps)?)
}

/// Writes the files of the result into `folder`, and leaves there of the outcomes what is wanted.
///
/// # Errors
/// When the folder is not writable or full.
pub fn write(summary: &Summary, folder: &Path, results: &Results) -> Result<(), ResultError> {
    files::write_all(folder, summary)?;
    if !results.per_request {
        let path = folder.join(OUTCOMES_FILE);
        fs::remove_file(&path).map_err(|source| ResultError::Remove { path, source })?;
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

/// The trace, its version, and what was made of it.
#[must_use]
pub fn dataset_provenance(prepared: &Prepared, seed: u64) -> DatasetProvenance {
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
