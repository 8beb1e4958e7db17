//! Traces in Parquet: a file, or a folder of shards, whose rows are read as the JSON records they stand for.
//!
//! A row becomes the text of a JSON object and then goes the way of a line, so every rule of a format holds for it. Keys
//! without a value are left out at every depth, which gives records back the shape they had before a writer filled the
//! keys that some of them lack with null.

mod cell;
mod columns;
mod error;
mod folder;
mod rows;
mod splits;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use columns::RefusedColumn;
pub use error::ParquetError;

use reprise_content::Turn;

use crate::facts::{DatasetWarning, Facts};
use crate::format::Format;
use crate::options::Options;
use crate::read::{ReadError, read_records};
use crate::records::Records as _;
use rows::Rows;

/// What a Parquet file begins with.
const MAGIC: [u8; 4] = *b"PAR1";

/// The files of a trace in Parquet, in the order in which they are read.
#[derive(Clone, Debug)]
pub struct ParquetTrace {
    shards: Vec<ParquetShard>,
    warnings: Vec<DatasetWarning>,
}

/// A file of a trace in Parquet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParquetShard {
    /// Where it lies.
    pub path: PathBuf,
    /// Its name, with the folders between it and the trace's own.
    pub name: String,
}

impl ParquetTrace {
    /// Finds the Parquet files that `path` names: itself, told by its first bytes and never by its name, or the shards in
    /// it. `None` when it is neither a folder nor a file that begins as Parquet does; pipes are not read from.
    ///
    /// # Errors
    ///
    /// When a folder holds no Parquet, several datasets or files of another kind, or when the disk fails.
    pub fn find(path: &Path) -> Result<Option<Self>, ParquetError> {
        let Ok(metadata) = path.metadata() else {
            // Whoever opens it as another kind of file says why that does not work.
            return Ok(None);
        };
        if metadata.is_dir() {
            return folder::find(path).map(Some);
        }
        if !metadata.is_file() || !has_magic(path).unwrap_or(false) {
            return Ok(None);
        }
        let name = path.file_name().unwrap_or(path.as_os_str());
        let shard = ParquetShard {
            path: path.to_owned(),
            name: name.to_string_lossy().into_owned(),
        };
        Ok(Some(Self {
            shards: vec![shard],
            warnings: Vec::new(),
        }))
    }

    /// The files, in the order in which they are read.
    #[must_use]
    pub fn shards(&self) -> &[ParquetShard] {
        &self.shards
    }

    /// The first row as JSON, for [`Format::detect`]. `None` when there is no row.
    ///
    /// # Errors
    ///
    /// When the first file with a row cannot be read, or has a column that no record can hold.
    pub fn first_record(&self) -> Result<Option<String>, ReadError<io::Error>> {
        let mut rows = Rows::new(&self.shards);
        let first = rows.next()?;
        Ok(first.and_then(|record| record.text.ok().map(ToOwned::to_owned)))
    }
}

/// Reads a trace in Parquet as [`read`](crate::read()) reads lines: each row's turn goes to `sink`, in order. At most a few
/// hundred rows are held at a time. Rows count as lines, from 1 over all files.
///
/// # Errors
///
/// As [`read`](crate::read()); and when `format` does not read Parquet, which is said before anything is read.
pub fn read_parquet<E>(
    format: Format,
    trace: &ParquetTrace,
    options: &Options,
    sink: &mut dyn FnMut(Turn) -> Result<(), E>,
) -> Result<Facts, ReadError<E>> {
    format.check_reads_parquet()?;
    let mut facts = read_records(format, &mut Rows::new(&trace.shards), options, sink)?;
    facts.warnings.splice(0..0, trace.warnings.iter().cloned());
    Ok(facts)
}

/// Whether the file begins as Parquet does.
fn has_magic(path: &Path) -> io::Result<bool> {
    let mut start = Vec::with_capacity(MAGIC.len());
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(is_parquet(&start))
}

/// Whether a file that starts with these bytes is a Parquet file.
#[must_use]
pub fn is_parquet(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}
