//! The trace that a spec names, opened, with its format known.

use std::io::BufRead;

use reprise_content::Turn;
use reprise_contract::summary::DatasetFile;
use reprise_crds::{Dataset, TraceFormat, UnknownColumns};
use reprise_dataset::{
    Facts, Format, HeaderName, Options, ParquetShard, ParquetTrace, ReadError, TimestampUnit,
};
use reprise_source::{LayoutWarning, LocalFile, LocalTrace, Provenance, Reference, SourceError, Trace};

use super::parquet;
use super::progress::Reading;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// A trace that is open, with its format and the options to read it with.
pub(crate) struct TraceInput {
    pub(crate) reference: Reference,
    pub(crate) format: Format,
    pub(crate) is_format_detected: bool,
    options: Options,
    records: Records,
}

/// What is known of a trace once it was read.
pub(crate) struct Known {
    pub(crate) facts: Facts,
    pub(crate) source: Provenance,
    /// Its files, where it has several.
    pub(crate) files: Vec<DatasetFile>,
    /// What to know of how they were chosen.
    pub(crate) layout_warnings: Vec<LayoutWarning>,
}

/// What the records are read from.
enum Records {
    Lines(Box<Trace>),
    Rows {
        trace: ParquetTrace,
        warnings: Vec<LayoutWarning>,
    },
}

/// Why reading stops before the end of the trace.
#[derive(Debug, thiserror::Error)]
enum Stop<E: std::error::Error> {
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Sink(E),
}

impl TraceInput {
    /// Opens the trace. Where the spec names no format, the first record of a local file tells it; a remote trace is never
    /// guessed.
    pub(crate) fn open(dataset: &Dataset) -> Result<Self, Failure> {
        let reference = Reference::parse(&dataset.source).map_err(Failure::input)?;
        let options = options(dataset)?;
        if dataset.format.is_none() && reference.local_path().is_none() {
            return Err(no_format(
                &reference,
                "its format is not given, and the format of a remote trace is never guessed",
            ));
        }
        let mut records = Records::open(&reference)?;
        let (format, is_format_detected) = match dataset.format {
            Some(format) => (chosen(format), false),
            None => (records.detect(&reference)?, true),
        };
        if let Records::Rows { .. } = records {
            format
                .check_reads_parquet()
                .map_err(|error| unusable(&reference, &error))?;
        }
        options
            .check(format)
            .map_err(|error| Failure::Input(format!("Cannot use {reference}: {error}.")))?;
        Ok(Self {
            reference,
            format,
            is_format_detected,
            options,
            records,
        })
    }

    /// Reads every record. Gives back what is known of the trace, and what exactly was read.
    pub(crate) fn read<E: std::error::Error + Send + Sync + 'static>(
        self,
        interrupt: &Interrupt,
        sink: &mut dyn FnMut(Turn) -> Result<(), E>,
    ) -> Result<Known, Failure> {
        let mut checked = |turn: Turn| {
            if interrupt.is_set() {
                return Err(Stop::Interrupted);
            }
            sink(turn).map_err(Stop::Sink)
        };
        let (reference, format, options) = (&self.reference, self.format, &self.options);
        match self.records {
            Records::Lines(mut trace) => {
                let reading = Reading::show(reference, trace.progress());
                let facts = reprise_dataset::read(format, &mut *trace, options, &mut checked)
                    .map_err(|error| failure(reference, error))?;
                let source = trace.finish().map_err(Failure::input)?;
                drop(reading);
                Ok(Known {
                    facts,
                    source,
                    files: Vec::new(),
                    layout_warnings: Vec::new(),
                })
            }
            Records::Rows { trace, warnings } => {
                let known = parquet::with_provenance(reference, &trace, interrupt, || {
                    reprise_dataset::read_parquet(format, &trace, options, &mut checked)
                        .map_err(|error| failure(reference, error))
                })?;
                Ok(Known {
                    layout_warnings: warnings,
                    ..known
                })
            }
        }
    }
}

impl Records {
    fn open(reference: &Reference) -> Result<Self, Failure> {
        if let Some(path) = reference.local_path() {
            let LocalTrace { files, warnings } = reprise_source::find_local(path).map_err(Failure::input)?;
            if files.iter().all(|file| file.is_parquet) {
                let trace = ParquetTrace::of(files.into_iter().map(shard).collect());
                return Ok(Self::Rows { trace, warnings });
            }
        }
        let mut trace = reprise_source::open(reference).map_err(Failure::input)?;
        let start = trace
            .fill_buf()
            .map_err(|error| Failure::Input(error.to_string()))?;
        if reprise_source::is_parquet(start) {
            return Err(Failure::Input(format!(
                "Cannot use {reference}: it is a Parquet file, which is read only from a plain file on this machine, not \
                 from a server, a pipe or a compressed file. Save it as one and give its path."
            )));
        }
        Ok(Self::Lines(Box::new(trace)))
    }

    /// The format that the first record looks like.
    fn detect(&mut self, reference: &Reference) -> Result<Format, Failure> {
        let first = match self {
            Self::Lines(trace) => first_line(trace)?,
            Self::Rows { trace, .. } => trace
                .first_record()
                .map_err(|error| unusable(reference, &error))?,
        };
        let Some(first) = first else {
            return Err(Failure::Input(format!(
                "Cannot use {reference}: it is empty. Point dataset.source at a trace with at least one record."
            )));
        };
        Format::detect(&first)
            .ok_or_else(|| no_format(reference, "its first record looks like none of the known formats"))
    }
}

fn shard(file: LocalFile) -> ParquetShard {
    ParquetShard {
        path: file.path,
        name: file.name,
    }
}

fn unusable(reference: &Reference, error: &dyn std::error::Error) -> Failure {
    Failure::Input(format!("Cannot use {reference}: {error}"))
}

fn failure<E: std::error::Error + Send + Sync + 'static>(
    reference: &Reference,
    error: ReadError<Stop<E>>,
) -> Failure {
    match error {
        ReadError::Sink(Stop::Interrupted) => Failure::Cancelled,
        ReadError::Sink(Stop::Sink(error)) => Failure::Run(error.into()),
        // The source's own error says it all.
        ReadError::Io { source, .. } if SourceError::behind(&source).is_some() => {
            Failure::Input(source.to_string())
        }
        error => Failure::Input(format!("Cannot use {reference}: {error}")),
    }
}

/// The first line with something on it, as far as the first bytes show it. `None` when there are no bytes.
fn first_line(trace: &mut Trace) -> Result<Option<String>, Failure> {
    let start = trace
        .fill_buf()
        .map_err(|error| Failure::Input(error.to_string()))?;
    if start.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(start);
    let first = text.lines().find(|line| !line.trim().is_empty());
    Ok(Some(first.unwrap_or_default().to_owned()))
}

fn no_format(reference: &Reference, reason: &str) -> Failure {
    let names: Vec<_> = Format::all().iter().map(|format| format.name()).collect();
    Failure::Input(format!(
        "Cannot use {reference}: {reason}. Name it with --format or dataset.format: {}.",
        names.join(", ")
    ))
}

/// The reader of a format that the spec names.
fn chosen(format: TraceFormat) -> Format {
    match format {
        TraceFormat::MooncakeTrace => Format::MooncakeTrace,
        TraceFormat::WorkloadTrace => Format::WorkloadTrace,
    }
}

fn options(dataset: &Dataset) -> Result<Options, Failure> {
    let given = &dataset.options;
    let keep_headers = given
        .keep_headers
        .iter()
        .map(|name| HeaderName::parse(name))
        .collect::<Result<_, _>>()
        .map_err(Failure::input)?;
    Ok(Options {
        block_size: given.block_size,
        timestamp_unit: given.timestamp_unit.map(unit),
        keep_headers,
        unknown_columns: match given.unknown_columns {
            UnknownColumns::Refuse => reprise_dataset::UnknownColumns::Refuse,
            UnknownColumns::Ignore => reprise_dataset::UnknownColumns::Ignore,
        },
    })
}

pub(super) fn unit(unit: reprise_crds::TimestampUnit) -> TimestampUnit {
    match unit {
        reprise_crds::TimestampUnit::Seconds => TimestampUnit::Seconds,
        reprise_crds::TimestampUnit::Milliseconds => TimestampUnit::Milliseconds,
        reprise_crds::TimestampUnit::Microseconds => TimestampUnit::Microseconds,
        reprise_crds::TimestampUnit::Nanoseconds => TimestampUnit::Nanoseconds,
    }
}
