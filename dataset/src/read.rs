//! Reading a trace: what all formats have in common.

use std::io::{self, BufRead};

use reprise_content::Turn;

use crate::facts::{DatasetWarning, Facts};
use crate::format::Format;
use crate::json::Members;
use crate::lines::Lines;
use crate::named_counts::NamedCounts;
use crate::options::{Options, OptionsError, UnknownColumns};
use crate::parquet_trace::ParquetError;
use crate::position::Position;
use crate::records::{Records, RecordsError};
use crate::refusal::{BadLines, LineError, NoColumnFits, UnknownColumn};

/// What a format knows that others do not: how one record becomes a turn.
pub(crate) trait RecordReader {
    /// The turn that a record stands for. Columns that the format does not know were taken care of.
    fn turn(&mut self, position: &Position, record: &Members<'_>) -> Result<Turn, LineError>;

    /// Advice that only the sight of all bad lines can give.
    fn advice(&self) -> Option<String>;

    /// What there is to say after the last record.
    fn finish(self: Box<Self>) -> Remarks;
}

/// What a format has to say of a trace as a whole.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Whether some body needs `target.model`.
    pub(crate) is_synthesised: bool,
    pub(crate) warnings: Vec<DatasetWarning>,
}

/// Reads a decompressed trace and hands each record's turn to `sink`, in the order of the file.
///
/// One line is held at a time. Turns already handed out must be thrown away when an error comes back: a trace with any
/// line that is wrong is refused as a whole. After the first such line, later turns are checked but no longer handed out.
///
/// # Errors
///
/// When the trace cannot be read or used, or when `sink` fails, which ends the reading. [`ReadError`] prints what follows
/// `Cannot use <reference>: `.
pub fn read<E>(
    format: Format,
    trace: &mut dyn BufRead,
    options: &Options,
    sink: &mut dyn FnMut(Turn) -> Result<(), E>,
) -> Result<Facts, ReadError<E>> {
    read_records(format, &mut Lines::new(trace), options, sink)
}

/// Reads the records of a trace of any kind, as [`read`] does those on lines.
pub(crate) fn read_records<E>(
    format: Format,
    records: &mut dyn Records,
    options: &Options,
    sink: &mut dyn FnMut(Turn) -> Result<(), E>,
) -> Result<Facts, ReadError<E>> {
    options.check(format)?;
    let mut reader = format.reader(options);
    let mut columns = Columns::new(format, options.unknown_columns);
    let mut facts = Facts::default();
    let mut bad = BadLines::default();

    while let Some(record) = records.next()? {
        let position = record.position;
        let record = match record.text.and_then(|text| Ok(Members::parse(text)?)) {
            Ok(record) => record,
            Err(error) => {
                bad.add(position, error);
                continue;
            }
        };
        columns.check_first_record(&position, &record)?;
        let turn = columns
            .check(&record)
            .map_err(LineError::from)
            .and_then(|()| reader.turn(&position, &record));
        match turn {
            Ok(turn) if bad.is_empty() => {
                facts.add(&turn);
                sink(turn).map_err(ReadError::Sink)?;
            }
            Ok(_) => {}
            Err(error) => bad.add(position, error),
        }
    }

    facts.blank_lines = records.blank_lines();
    if !bad.is_empty() {
        return Err(ReadError::BadLines(bad.with_advice(reader.advice())));
    }
    if facts.records == 0 {
        return Err(ReadError::Empty {
            blank_lines: facts.blank_lines,
        });
    }
    let remarks = reader.finish();
    facts.is_synthesised = remarks.is_synthesised;
    facts.warnings = columns.warning().into_iter().chain(remarks.warnings).collect();
    Ok(facts)
}

/// Which columns the records have that the format does not know.
struct Columns {
    format: Format,
    unknown: UnknownColumns,
    has_seen_a_record: bool,
    ignored: NamedCounts,
}

impl Columns {
    fn new(format: Format, unknown: UnknownColumns) -> Self {
        Self {
            format,
            unknown,
            has_seen_a_record: false,
            ignored: NamedCounts::default(),
        }
    }

    /// A trace of another format is refused at its first record, however long it is.
    fn check_first_record(&mut self, position: &Position, record: &Members<'_>) -> Result<(), NoColumnFits> {
        let is_first = !std::mem::replace(&mut self.has_seen_a_record, true);
        if is_first && !record.iter().any(|member| self.knows(&member.key)) {
            let columns = record
                .iter()
                .map(|member| member.key.clone().into_owned())
                .collect();
            return Err(NoColumnFits {
                format: self.format,
                position: position.clone(),
                columns,
            });
        }
        Ok(())
    }

    fn check(&mut self, record: &Members<'_>) -> Result<(), UnknownColumn> {
        for member in record.iter() {
            if self.knows(&member.key) {
                continue;
            }
            match self.unknown {
                UnknownColumns::Ignore => self.ignored.add(&member.key),
                UnknownColumns::Refuse => {
                    return Err(UnknownColumn {
                        format: self.format,
                        column: member.key.clone().into_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    fn knows(&self, column: &str) -> bool {
        self.format.columns().contains(&column)
    }

    fn warning(self) -> Option<DatasetWarning> {
        (!self.ignored.is_empty()).then_some(DatasetWarning::ColumnsIgnored(self.ignored))
    }
}

/// Why a trace cannot be used. Prints what follows `Cannot use <reference>: `.
#[derive(Debug, thiserror::Error)]
pub enum ReadError<E> {
    /// Options that the format does not take.
    #[error("{0}.")]
    Options(#[from] OptionsError),
    /// The trace could not be read to its end.
    #[error(
        "reading stopped after line {after}: {source}. Check that the file is complete and can be reached."
    )]
    Io {
        /// The last line that was read.
        after: u32,
        /// What stopped it.
        source: io::Error,
    },
    /// More records than can be numbered.
    #[error("it has more than 4,294,967,295 records. Split it.")]
    TooManyRecords,
    /// Not one record.
    #[error("it is empty{}. Point dataset.source at a trace with at least one record.", blanks(*.blank_lines))]
    Empty {
        /// Lines with nothing but blanks on them.
        blank_lines: u32,
    },
    /// The first record has no column that the format knows.
    #[error(transparent)]
    NoColumnFits(#[from] NoColumnFits),
    /// Some lines are wrong.
    #[error(transparent)]
    BadLines(BadLines),
    /// A trace in Parquet that cannot be used.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The sink failed.
    #[error("{0}")]
    Sink(E),
}

impl<E> From<RecordsError> for ReadError<E> {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Io { after, source } => Self::Io { after, source },
            RecordsError::TooMany => Self::TooManyRecords,
            RecordsError::Parquet(error) => Self::Parquet(error),
        }
    }
}

fn blanks(lines: u32) -> String {
    match lines {
        0 => String::new(),
        1 => " (1 blank line)".to_owned(),
        lines => format!(" ({lines} blank lines)"),
    }
}
