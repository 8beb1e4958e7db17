//! `reprise run`: a job in, a measured replay out.

mod folder;
mod job;
mod load;
mod measure;
mod plan;
mod progress;
mod result;

use reprise_crds::document::Document;

use crate::args::{OutputArguments, RunArguments};
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::open_files;
use crate::output::print;
use crate::prepare::{Times, prepare};
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
    let spec = document.spec();
    let folder = ResultFolder::create(output.output.as_deref(), document.name())?;
    // What the trace and the schedule do not agree on is known before a remote trace is downloaded.
    let check_times = |times: Times| {
        let load = load::load(&spec.replay, times == Times::Recorded);
        load.map(|_| ()).map_err(Failure::input)
    };
    let (dataset, api) = (&spec.dataset, spec.target.api);
    let prepared = prepare(
        dataset,
        api,
        spec.replay.seed,
        &check_times,
        folder.path(),
        interrupt,
    )?;
    let planned = plan::plan(spec, &prepared, output.threads)?;
    let measured = measure::measure(planned, folder.path(), interrupt)?;
    let folder = folder.keep();
    let summary = result::summarise(document, &prepared, measured)?;
    // Shown before it is written: what was measured is not lost with a full disk.
    result::show(&summary, output.json)?;
    result::write(&summary, &folder, &spec.results)?;
    if !output.json {
        print(&format!("\nResults: {}\n", folder.display()))?;
    }
    Ok(Done::Replayed(summary.verdict))
}
