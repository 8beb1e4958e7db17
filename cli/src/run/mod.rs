//! `reprise run`: a job in, a measured replay out.

mod deadline;
mod folder;
mod job;
mod measure;
mod plan;
mod progress;
mod show;
mod store;
mod workers;

use std::num::NonZeroU32;
use std::path::Path;

use jiff::Timestamp;
use reprise_contract::Histogram;
use reprise_contract::summary::Warning;
use reprise_crds::ReplayJobSpec;
use reprise_crds::document::Document;
use reprise_dataset_manager::planned::{Planned, plan};
use reprise_dataset_manager::prepare::{Prepared, Waiting, prepare};
use reprise_dataset_manager::result::{self, Finished};
use reprise_dataset_manager::{load, open_files};
use reprise_report::EndedBy;
use reprise_worker::{Replayed, StopCause};
use tempfile::TempDir;

use crate::args::{OutputArguments, RunArguments, Workers};
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::print;
use crate::progress::Shown;
use deadline::Deadline;
use folder::ResultFolder;
use workers::Job;

/// Runs the job that the arguments give.
pub(crate) fn run(arguments: &RunArguments) -> Result<Done, Failure> {
    let document = job::read(arguments)?;
    let interrupt = Interrupt::listen()?;
    run_document(&document, arguments.workers, &arguments.output, &interrupt)
}

/// Runs a job that was read: in this process alone, or by worker processes.
pub(crate) fn run_document(
    document: &Document,
    workers: Option<Workers>,
    output: &OutputArguments,
    interrupt: &Interrupt,
) -> Result<Done, Failure> {
    open_files::raise_limit();
    let (name, spec) = (document.name(), document.spec());
    let deadline = Deadline::start(spec.timeout_seconds, interrupt);
    let folder = ResultFolder::create(output.output.as_deref(), name)?;
    let store = store::Store::open(name, &spec.results)?;
    let scratch = tempfile::Builder::new()
        .prefix(".content-")
        .tempdir_in(folder.path())?;
    interrupt.owns_scratch(scratch.path());
    let prepared =
        prepared(spec, workers, &scratch, &deadline).map_err(|failure| deadline.explain(failure))?;
    let (planned, finished) = match workers {
        None => alone(spec, &prepared, output, folder.path(), interrupt)?,
        Some(workers) => {
            let (planned, chosen_by) =
                workers::plan(spec, &prepared, workers, output.threads, scratch.path())?;
            let job = Job {
                spec,
                prepared: &prepared,
                planned: &planned,
                chosen_by: &chosen_by,
                threads: output.threads,
                folder: folder.path(),
                scratch: scratch.path(),
            };
            let finished = workers::measure(&job, &deadline)?;
            (planned, finished)
        }
    };
    let folder = folder.keep();
    let summary = result::summarise(name, spec, &prepared, &planned, finished, &folder)?;
    // Shown before it is written: what was measured is not lost with a full disk.
    show::show(&summary, output.json)?;
    result::write(&summary, &folder, &spec.results)?;
    if !output.json {
        print(&format!("\nResults: {}\n", folder.display()))?;
    }
    store.store(&folder, output.json)?;
    Ok(Done::Replayed(summary.verdict))
}

/// Makes the plan, and replays it in this process.
fn alone(
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    output: &OutputArguments,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(Planned, Finished), Failure> {
    let planned = plan(spec, prepared, NonZeroU32::MIN).map_err(Failure::input)?;
    let plan = plan::whole(&planned, &prepared.content, output.threads)?;
    let (replayed, gaps) = measure::measure(plan, folder, interrupt)?;
    let finished = finished(spec, replayed, gaps)?;
    Ok((planned, finished))
}

/// The content of the trace.
fn prepared(
    spec: &ReplayJobSpec,
    workers: Option<Workers>,
    scratch: &TempDir,
    deadline: &Deadline,
) -> Result<Prepared, Failure> {
    let workers = match workers {
        Some(Workers::Count(count)) => count,
        Some(Workers::Auto) | None => NonZeroU32::MIN,
    };
    let shown = Shown::default();
    let waiting = Waiting::new(deadline.end(), &shown).map_err(Failure::preparing)?;
    prepare(
        &spec.dataset,
        spec.target.api,
        spec.replay.seed,
        &|times| load::check(&spec.replay, times, workers),
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
