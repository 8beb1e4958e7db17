//! `reprise run`: a job in, a measured replay out.

mod folder;
mod job;
mod measure;
mod plan;
mod progress;
mod show;

use std::num::NonZeroU32;

use jiff::Timestamp;
use reprise_contract::Histogram;
use reprise_contract::summary::Warning;
use reprise_crds::ReplayJobSpec;
use reprise_crds::document::Document;
use reprise_dataset_manager::planned::plan;
use reprise_dataset_manager::prepare::{Prepared, Waiting, prepare};
use reprise_dataset_manager::result::{self, Finished};
use reprise_dataset_manager::{load, open_files};
use reprise_report::EndedBy;
use reprise_worker::{Replayed, StopCause};
use tempfile::TempDir;

use crate::args::{OutputArguments, RunArguments};
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::print;
use crate::progress::Shown;
use folder::ResultFolder;

/// Runs the job that the arguments give.
pub(crate) fn run(arguments: &RunArguments) -> Result<Done, Failure> {
    let document = job::read(arguments)?;
    let interrupt = Interrupt::listen()?;
    run_document(&document, &arguments.output, &interrupt)
}

/// Runs a job that was read.
pub(crate) fn run_document(
    document: &Document,
    output: &OutputArguments,
    interrupt: &Interrupt,
) -> Result<Done, Failure> {
    open_files::raise_limit();
    let (name, spec) = (document.name(), document.spec());
    let folder = ResultFolder::create(output.output.as_deref(), name)?;
    let scratch = tempfile::Builder::new()
        .prefix(".content-")
        .tempdir_in(folder.path())?;
    interrupt.owns_scratch(scratch.path());
    let prepared = prepared(spec, &scratch, interrupt)?;
    let planned = plan(spec, &prepared, NonZeroU32::MIN).map_err(Failure::input)?;
    let plan = plan::whole(&planned, &prepared.content, output.threads)?;
    let (replayed, gaps) = measure::measure(plan, folder.path(), interrupt)?;
    let folder = folder.keep();
    let finished = finished(spec, replayed, gaps)?;
    let summary = result::summarise(name, spec, &prepared, &planned, finished, &folder)?;
    // Shown before it is written: what was measured is not lost with a full disk.
    show::show(&summary, output.json)?;
    result::write(&summary, &folder, &spec.results)?;
    if !output.json {
        print(&format!("\nResults: {}\n", folder.display()))?;
    }
    Ok(Done::Replayed(summary.verdict))
}

/// The content of the trace.
fn prepared(spec: &ReplayJobSpec, scratch: &TempDir, interrupt: &Interrupt) -> Result<Prepared, Failure> {
    let shown = Shown::default();
    let waiting = Waiting::new(interrupt.cancel(), &shown).map_err(Failure::preparing)?;
    prepare(
        &spec.dataset,
        spec.target.api,
        spec.replay.seed,
        &|times| load::check(&spec.replay, times, NonZeroU32::MIN),
        scratch.path(),
        &waiting,
    )
    .map_err(Failure::preparing)
}

/// What the replay left.
fn finished(spec: &ReplayJobSpec, replayed: Replayed, gaps: Histogram) -> Result<Finished, Failure> {
    let replicas = spec.workers.replicas;
    let one_process = (replicas.get() > 1).then(|| Warning {
        code: "OneProcess".to_owned(),
        message: format!("workers.replicas is {replicas}; here the run was one process."),
    });
    Ok(Finished {
        started_at: Timestamp::try_from(replayed.t0)?,
        ended_by: match replayed.stopped {
            None => EndedBy::Completion,
            Some(StopCause::Cancelled | StopCause::Leaving) => EndedBy::Cancel,
            Some(StopCause::DeadlinePassed) => EndedBy::Deadline,
            Some(StopCause::Aborted(message)) => EndedBy::Abort { message },
        },
        threads: u32::try_from(replayed.threads.get()).unwrap_or(u32::MAX),
        gaps,
        warnings: one_process.into_iter().collect(),
        workers: None,
    })
}
