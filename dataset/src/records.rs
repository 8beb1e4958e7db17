//! The records of a trace, whatever kind of file they stand in.

use std::io;

use crate::parquet_trace::ParquetError;
use crate::position::Position;
use crate::refusal::LineError;

/// The records of a trace, one at a time and in its order.
pub(crate) trait Records {
    /// The next record, `None` after the last one.
    fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError>;

    /// How many lines with nothing but blanks there were so far.
    fn blank_lines(&self) -> u32;
}

/// A record that is still text.
pub(crate) struct Record<'a> {
    pub(crate) position: Position,
    /// Its JSON, without what ends it and without blanks around it.
    pub(crate) text: Result<&'a str, LineError>,
}

/// Why the records cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordsError {
    #[error("reading stopped after line {after}")]
    Io { after: u32, source: io::Error },
    #[error("more than 4,294,967,295 records")]
    TooMany,
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}
