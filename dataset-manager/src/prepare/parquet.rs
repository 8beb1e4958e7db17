//! What exactly was read of a trace in Parquet.
//!
//! Its files are read from both ends and in pieces, so they are hashed on their own, before the rows are read; a file that
//! changes in between is noticed.

use std::io::{self, BufRead};
use std::time::SystemTime;

use reprise_dataset::Facts;
use reprise_source::{FetchedFile, Provenance, Reference};

use super::error::PrepareError;
use super::observer::Activity;
use super::waiting::Waiting;

/// Hashes the files, then reads the rows by `read`.
pub(super) fn with_provenance(
    reference: &Reference,
    files: &[FetchedFile],
    waiting: &Waiting<'_>,
    read: impl FnOnce() -> Result<Facts, PrepareError>,
) -> Result<(Facts, Vec<Provenance>), PrepareError> {
    let before = versions(files).map_err(PrepareError::System)?;
    let hashed = files
        .iter()
        .map(|file| hash(reference, file, waiting))
        .collect::<Result<Vec<_>, _>>()?;
    let facts = read()?;
    if versions(files).map_err(PrepareError::System)? != before {
        return Err(PrepareError::Changed {
            reference: reference.clone(),
        });
    }
    Ok((facts, hashed))
}

fn hash(
    reference: &Reference,
    file: &FetchedFile,
    waiting: &Waiting<'_>,
) -> Result<Provenance, PrepareError> {
    let mut stored = file.open()?;
    let reading = waiting.begin(Activity::Reading {
        reference: reference.clone(),
        progress: stored.progress(),
    });
    loop {
        if waiting.cancel().is_cancelled() {
            return Err(PrepareError::Cancelled);
        }
        let length = stored.fill_buf().map_err(PrepareError::Stream)?.len();
        if length == 0 {
            break;
        }
        stored.consume(length);
    }
    drop(reading);
    Ok(stored.finish()?)
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
