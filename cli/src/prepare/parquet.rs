//! What exactly was read of a trace in Parquet.
//!
//! Its files are read from both ends and in pieces, so they are hashed on their own, before the rows are read; a file that
//! changes in between is noticed.

use std::io::{self, BufRead};
use std::time::SystemTime;

use reprise_dataset::Facts;
use reprise_source::{FetchedFile, Provenance, Reference};

use super::progress::Showing;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Hashes the files, then reads the rows by `read`.
pub(super) fn with_provenance(
    reference: &Reference,
    files: &[FetchedFile],
    interrupt: &Interrupt,
    read: impl FnOnce() -> Result<Facts, Failure>,
) -> Result<(Facts, Vec<Provenance>), Failure> {
    let before = versions(files)?;
    let hashed = files
        .iter()
        .map(|file| hash(reference, file, interrupt))
        .collect::<Result<Vec<_>, _>>()?;
    let facts = read()?;
    if versions(files)? != before {
        return Err(Failure::Input(format!(
            "Cannot use {reference}: it changed while it was read. Start again when nothing writes to it."
        )));
    }
    Ok((facts, hashed))
}

fn hash(reference: &Reference, file: &FetchedFile, interrupt: &Interrupt) -> Result<Provenance, Failure> {
    let mut stored = file.open().map_err(Failure::input)?;
    let reading = Showing::reading(reference, stored.progress());
    loop {
        if interrupt.is_set() {
            return Err(Failure::Cancelled);
        }
        let length = stored
            .fill_buf()
            .map_err(|error| Failure::Input(error.to_string()))?
            .len();
        if length == 0 {
            break;
        }
        stored.consume(length);
    }
    drop(reading);
    stored.finish().map_err(Failure::input)
}

/// Length and time of the last change of every file.
fn versions(files: &[FetchedFile]) -> io::Result<Vec<(u64, SystemTime)>> {
    files
        .iter()
        .map(|file| {
            let metadata = file.path().metadata()?;
            Ok((metadata.len(), metadata.modified()?))
        })
        .collect()
}
