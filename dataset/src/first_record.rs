//! The first record of a trace, read before the rest is there: whether it is of its format, and whether it has a time.

use std::convert::Infallible;
use std::io::BufRead;

use crate::format::Format;
use crate::lines::{self, Lines};
use crate::options::Options;
use crate::parquet_trace::{ParquetTrace, Rows};
use crate::read::{ReadError, read_records};
use crate::records::{Record, Records, RecordsError};

/// What the first record of a trace says of all of it, as [`read`](crate::read()) would find: a trace whose first record
/// has a time and that can be read at all has [`Facts::is_timed`](crate::Facts::is_timed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRecord {
    /// Not yet known: the record goes on beyond what is there.
    NeedMore,
    /// It has a time, and so the trace has a recorded schedule.
    Timed,
    /// It has none.
    Untimed,
}

/// How much of a file is fetched to see its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStep {
    /// That many bytes from its start, as they are stored.
    Bytes(u64),
    /// All of it.
    Whole,
}

impl HeadStep {
    /// One after the other, until it is no longer [`FirstRecord::NeedMore`].
    pub const ALL: [Self; 4] = [
        Self::Bytes(64 << 10),
        Self::Bytes(1 << 20),
        Self::Bytes(8 << 20),
        Self::Whole,
    ];
}

impl FirstRecord {
    /// Looks at the start of a decompressed trace that goes on.
    ///
    /// # Errors
    ///
    /// What [`read`](crate::read()) says of the first record when it is wrong, or of options that the format does not
    /// take.
    pub fn in_head(
        format: Format,
        options: &Options,
        mut head: &[u8],
    ) -> Result<Self, ReadError<Infallible>> {
        if !lines::holds_a_record(head) {
            options.check(format)?;
            return Ok(Self::NeedMore);
        }
        let whole_head = head;
        let found = Self::in_lines(format, options, &mut head);
        match found {
            // The next line may show that the trace is one document, for which there is better advice.
            Err(ReadError::BadLines(bad)) => {
                let mut head = whole_head;
                let two = Self::of_first(2, format, options, &mut Lines::new(&mut head));
                match two {
                    Err(ReadError::BadLines(two)) if two.is_one_document() => Err(ReadError::BadLines(two)),
                    _ => Err(ReadError::BadLines(bad)),
                }
            }
            found => found,
        }
    }

    /// Looks at a decompressed trace that is there to its end. Reads no further than the first record.
    ///
    /// # Errors
    ///
    /// As [`in_head`](Self::in_head); and when there is no record, or reading fails.
    pub fn in_lines(
        format: Format,
        options: &Options,
        trace: &mut dyn BufRead,
    ) -> Result<Self, ReadError<Infallible>> {
        Self::of_first(1, format, options, &mut Lines::new(trace))
    }

    /// Looks at the first files of a trace in Parquet that has more of them.
    ///
    /// # Errors
    ///
    /// As [`read_parquet`](crate::read_parquet) says of the first row when it is wrong, or of a file that cannot be read.
    pub fn in_first_shards(
        format: Format,
        options: &Options,
        trace: &ParquetTrace,
    ) -> Result<Self, ReadError<Infallible>> {
        match Self::in_shards(format, options, trace) {
            Err(ReadError::Empty { .. }) => Ok(Self::NeedMore),
            found => found,
        }
    }

    /// Looks at all files of a trace in Parquet, and reads no further than the first row.
    ///
    /// # Errors
    ///
    /// As [`in_first_shards`](Self::in_first_shards); and when there is no row.
    pub fn in_shards(
        format: Format,
        options: &Options,
        trace: &ParquetTrace,
    ) -> Result<Self, ReadError<Infallible>> {
        format.check_reads_parquet()?;
        Self::of_first(1, format, options, &mut Rows::new(trace.shards()))
    }

    /// Reads so many records as a trace of their own.
    fn of_first(
        count: u32,
        format: Format,
        options: &Options,
        records: &mut dyn Records,
    ) -> Result<Self, ReadError<Infallible>> {
        let mut first = First { records, left: count };
        let facts = read_records(format, &mut first, options, &mut |_| Ok(()))?;
        Ok(if facts.is_timed {
            Self::Timed
        } else {
            Self::Untimed
        })
    }
}

/// The first records of a trace.
struct First<'a> {
    records: &'a mut dyn Records,
    left: u32,
}

impl Records for First<'_> {
    fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.records.next()
            }
            None => Ok(None),
        }
    }

    fn blank_lines(&self) -> u32 {
        self.records.blank_lines()
    }
}
