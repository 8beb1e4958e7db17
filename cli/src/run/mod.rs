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
use crate::prepare::prepare;
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
    let prepared = prepare(&spec.dataset, spec.replay.seed, folder.path(), interrupt)?;
    let planned = plan::plan(spec, &prepared, output.threads)?;
    let measured = measure::measure(planned, folder.path(), interrupt)?;
    let folder = folder.keep();
    let summary = result::summarise(document, &prepared, measured)?;
    // Shown before it is written: what was measured is not lost with a full disk.
    result::show(&summary, output.json)?;
    result::write(&summary, &folder, spec.results)?;
    if !output.json {
        print(&format!("\nResults: {}\n", folder.display()))?;
    }
    Ok(Done::Replayed(summary.verdict))
}
