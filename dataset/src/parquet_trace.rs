//! Traces in Parquet: a file, or a folder of shards, whose rows are read as the JSON records they stand for.
//!
//! A row becomes the text of a JSON object and then goes the way of a line, so every rule of a format holds for it. Keys
//! without a value are left out at every depth, which gives records back the shape they had before a writer filled the
//! keys that some of them lack with null.

mod cell;
mod columns;
mod error;
mod rows;

use std::io;
use std::path::PathBuf;

pub use columns::RefusedColumn;
pub use error::ParquetError;

use reprise_content::Turn;

use crate::facts::Facts;
use crate::format::Format;
use crate::options::Options;
use crate::read::{ReadError, read_records};
use crate::records::Records as _;
pub(crate) use rows::Rows;

/// The files of a trace in Parquet, in the order in which they are read.
#[derive(Clone, Debug)]
pub struct ParquetTrace {
    shards: Vec<ParquetShard>,
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
    /// The trace that these files are, in the order in which they are read.
    #[must_use]
    pub const fn of(shards: Vec<ParquetShard>) -> Self {
        Self { shards }
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
    read_records(format, &mut Rows::new(&trace.shards), options, sink)
}
