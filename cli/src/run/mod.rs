//! `reprise run`: a job in, a measured replay out.

mod job;
mod load;
mod measure;
mod plan;
mod progress;
mod result;

use std::path::{Path, PathBuf};

use reprise_crds::document::Document;

use crate::args::{OutputArguments, RunArguments};
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::prepare::prepare;

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
    let spec = document.spec();
    let folder = ResultFolder::create(output.output.as_deref(), document.name())?;
    let prepared = prepare(&spec.dataset, spec.replay.seed, folder.path(), interrupt)?;
    let planned = plan::plan(spec, &prepared, output.threads)?;
    let measured = measure::measure(planned, folder.path(), interrupt)?;
    let summary = result::summarise(document, &prepared, measured, folder.path())?;
    let shown = result::show(&summary, folder.keep(), output.json)?;
    Ok(shown)
}

/// The folder for results. It goes again when it was made for a run that gave none.
struct ResultFolder {
    path: PathBuf,
    is_new: bool,
    is_kept: bool,
}

impl ResultFolder {
    fn create(given: Option<&Path>, name: &str) -> Result<Self, Failure> {
        let path = given.map_or_else(|| default_folder(name), Path::to_owned);
        let is_new = !path.exists();
        std::fs::create_dir_all(&path).map_err(|error| {
            Failure::Input(format!(
                "Cannot use {} for results: {error}. Name another folder with --output.",
                path.display()
            ))
        })?;
        Ok(Self {
            path,
            is_new,
            is_kept: false,
        })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder for good.
    fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if self.is_new && !self.is_kept {
            // Only a folder that this run made, and only when nothing is in it.
            let _ = std::fs::remove_dir(&self.path);
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

fn default_folder(name: &str) -> PathBuf {
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
    Path::new("reprise-results").join(format!("{name}-{}", now.strftime("%Y%m%dT%H%M%SZ")))
}
