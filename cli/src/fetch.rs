//! `reprise fetch`: a trace into the cache, verified.

use reprise_contract::summary::Pin;
use reprise_dataset_manager::prepare::{Checked, OnMachine, Waiting};
use reprise_source::FetchedFile;
use serde::Serialize;

use crate::args::FetchArguments;
use crate::dataset::dataset;
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::{print, print_json};
use crate::progress::Shown;

/// What was fetched.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fetched {
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Pin>,
    /// In the order of reading.
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    name: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// Checks access, downloads what is not there yet, verifies it, and says where it lies.
pub(crate) fn fetch(arguments: &FetchArguments) -> Result<Done, Failure> {
    let dataset = dataset(&arguments.dataset)?;
    let interrupt = Interrupt::listen()?;
    let shown = Shown::default();
    let waiting = Waiting::new(interrupt.cancel(), &shown).map_err(Failure::preparing)?;
    let on_machine = Checked::new(&dataset, None, &waiting)
        .and_then(|checked| checked.fetch(&waiting))
        .map_err(Failure::preparing)?;
    let fetched = fetched(&on_machine);
    if arguments.json {
        print_json(&fetched)?;
    } else {
        let paths = fetched.files.iter().map(|file| format!("{}\n", file.path));
        print(&paths.collect::<String>())?;
    }
    Ok(Done::Shown)
}

fn fetched(on_machine: &OnMachine) -> Fetched {
    Fetched {
        reference: on_machine.reference.to_string(),
        pin: on_machine.record.pin.clone(),
        files: on_machine.fetched.files().iter().map(file).collect(),
    }
}

fn file(file: &FetchedFile) -> File {
    File {
        name: file.name().to_owned(),
        path: file.path().display().to_string(),
        bytes: file.bytes(),
        sha256: file.sha256().map(|digest| digest.to_string()),
    }
}
