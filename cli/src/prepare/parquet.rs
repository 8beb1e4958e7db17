//! What exactly was read of a trace in Parquet.
//!
//! Its files are read from both ends and in pieces, so they are hashed on their own, before the rows are read; a file that
//! changes in between is noticed.

use std::io::{self, BufRead};
use std::time::SystemTime;

use reprise_contract::summary::DatasetFile;
use reprise_dataset::{Facts, ParquetTrace};
use reprise_source::{Provenance, Reference};

use super::input::Known;
use super::progress::Reading;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Hashes the files, then reads the rows by `read`.
pub(super) fn with_provenance(
    reference: &Reference,
    trace: &ParquetTrace,
    interrupt: &Interrupt,
    read: impl FnOnce() -> Result<Facts, Failure>,
) -> Result<Known, Failure> {
    let before = versions(trace)?;
    let shards = trace.shards().iter();
    let files = shards
        .map(|shard| hash(&Reference::of_path(&shard.path), interrupt))
        .collect::<Result<Vec<_>, _>>()?;
    let facts = read()?;
    if versions(trace)? != before {
        return Err(Failure::Input(format!(
            "Cannot use {reference}: it changed while it was read. Start again when nothing writes to it."
        )));
    }
    Ok(Known {
        facts,
        source: Provenance::of_files(reference, &files),
        files: listed(trace, &files),
        layout_warnings: Vec::new(),
    })
}

/// The files, where there are several. A single one has nothing to add to what is known of the trace.
fn listed(trace: &ParquetTrace, files: &[Provenance]) -> Vec<DatasetFile> {
    if files.len() < 2 {
        return Vec::new();
    }
    let files = trace.shards().iter().zip(files);
    files
        .map(|(shard, file)| DatasetFile {
            name: shard.name.clone(),
            bytes: file.bytes,
            sha256: file.sha256.to_string(),
        })
        .collect()
}

fn hash(file: &Reference, interrupt: &Interrupt) -> Result<Provenance, Failure> {
    let mut stored = reprise_source::open(file).map_err(Failure::input)?;
    let reading = Reading::show(file, stored.progress());
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
fn versions(trace: &ParquetTrace) -> io::Result<Vec<(u64, SystemTime)>> {
    let shards = trace.shards().iter();
    shards
        .map(|shard| {
            let metadata = shard.path.metadata()?;
            Ok((metadata.len(), metadata.modified()?))
        })
        .collect()
}
