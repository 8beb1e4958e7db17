//! The trace that a spec names: on this machine, with its format known, and ready to be read.

use std::io::BufRead;

use reprise_content::Turn;
use reprise_contract::summary::DatasetFile;
use reprise_crds::{Api, Dataset, TraceFormat, UnknownColumns};
use reprise_dataset::{
    Facts, Format, HeaderName, Options, ParquetShard, ParquetTrace, ReadError, TimestampUnit,
};
use reprise_source::{FetchedFile, Pinned, Provenance, Reference, SourceError, Trace, is_parquet};

use super::first_record::{self, Times};
use super::parquet;
use super::progress::Showing;
use super::source::{Checked, OnMachine, Record};
use super::waiting::Waiting;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// A trace that is open, with its format and the options to read it with.
pub(crate) struct TraceInput {
    reference: Reference,
    pub(crate) format: Format,
    pub(crate) format_choice: FormatChoice,
    pub(crate) options: Options,
    records: Records,
    record: Record,
    /// What was fetched stays in the cache for as long as it is read.
    files: Vec<FetchedFile>,
}

/// Who named the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatChoice {
    /// The spec.
    Spec,
    /// The manifest or sidecar.
    Manifest,
    /// Nobody: the first record shows it.
    Detected,
}

/// What is known of a trace once it was read.
pub(crate) struct Known {
    pub(crate) facts: Facts,
    pub(crate) source: Provenance,
    /// Its files, where it was fetched or has several.
    pub(crate) files: Vec<DatasetFile>,
    /// Where it came from.
    pub(crate) record: Record,
}

/// Whether a trace may have times, or must have them; asked before it is downloaded.
pub(crate) type CheckTimes<'a> = &'a dyn Fn(Times) -> Result<(), Failure>;

/// What the records are read from.
enum Records {
    Lines(Box<Trace>),
    Rows(ParquetTrace),
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
    /// Checks access, looks at the first record of a remote trace, fetches what is not there yet, and opens it.
    ///
    /// Where neither spec nor manifest name a format, the first record of a local file tells it; that of a remote trace is
    /// never guessed.
    pub(crate) fn open(
        dataset: &Dataset,
        api: Option<Api>,
        check_times: CheckTimes<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let waiting = Waiting::new(interrupt)?;
        let checked = Checked::new(dataset, api, &waiting)?;
        let declared = declared_format(dataset, &checked.pinned)?;
        let options = options(dataset, &checked.pinned)?;
        match declared {
            Some((format, _)) => {
                let pinned = &checked.pinned;
                check_format(format, &options, pinned.reference(), pinned.is_parquet())?;
            }
            None if checked.pinned.is_local() => {}
            None => {
                return Err(no_format(
                    checked.pinned.reference(),
                    "its format is not given, and the format of a remote trace is never guessed",
                ));
            }
        }
        if let Some((format, _)) = declared
            && !checked.pinned.is_local()
            && let Some(times) = first_record::look(&checked, format, &options, &waiting)?
        {
            check_times(times)?;
        }
        let are_parquet = checked.pinned.is_parquet();
        let OnMachine {
            reference,
            fetched,
            record,
        } = checked.fetch(&waiting)?;
        let files = fetched.files().to_vec();
        let mut records = Records::open(&reference, &files, are_parquet)?;
        let (format, format_choice) = match declared {
            Some(declared) => declared,
            None => (records.detect(&reference)?, FormatChoice::Detected),
        };
        // Once more: now the format is known that was not declared, and so is Parquet by another name.
        check_format(format, &options, &reference, matches!(records, Records::Rows(_)))?;
        Ok(Self {
            reference,
            format,
            format_choice,
            options,
            records,
            record,
            files,
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
        let is_fetched = self.record.pin.is_some();
        let (facts, read) = match self.records {
            Records::Lines(mut trace) => {
                let reading = Showing::reading(reference, trace.progress());
                let facts = reprise_dataset::read(format, &mut *trace, options, &mut checked)
                    .map_err(|error| failure(reference, error))?;
                let source = trace.finish().map_err(Failure::input)?;
                drop(reading);
                (facts, vec![source])
            }
            Records::Rows(trace) => parquet::with_provenance(reference, &self.files, interrupt, || {
                reprise_dataset::read_parquet(format, &trace, options, &mut checked)
                    .map_err(|error| failure(reference, error))
            })?,
        };
        Ok(Known {
            facts,
            files: if is_fetched || read.len() > 1 {
                listed(&self.files, &read)
            } else {
                Vec::new()
            },
            source: match <[Provenance; 1]>::try_from(read) {
                Ok([only]) => only,
                Err(several) => Provenance::of_files(reference, &several),
            },
            record: self.record,
        })
    }
}

impl Records {
    fn open(reference: &Reference, files: &[FetchedFile], are_parquet: bool) -> Result<Self, Failure> {
        let rows = || Self::Rows(ParquetTrace::of(files.iter().map(shard).collect()));
        let [only] = files else {
            return Ok(rows());
        };
        if are_parquet {
            return Ok(rows());
        }
        let mut trace = only.open().map_err(Failure::input)?;
        let start = trace
            .fill_buf()
            .map_err(|error| Failure::Input(error.to_string()))?;
        if !is_parquet(start) {
            return Ok(Self::Lines(Box::new(trace)));
        }
        if trace.is_plain() && only.path().is_file() {
            return Ok(rows());
        }
        Err(Failure::Input(format!(
            "Cannot use {reference}: it is a Parquet file in a pipe or a compressed file, which is read only as a plain file. \
             Save or publish it as one."
        )))
    }

    /// The format that the first record looks like.
    fn detect(&mut self, reference: &Reference) -> Result<Format, Failure> {
        let first = match self {
            Self::Lines(trace) => first_line(trace)?,
            Self::Rows(trace) => trace
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

/// The format that the spec names, else the one that the manifest names.
fn declared_format(dataset: &Dataset, pinned: &Pinned) -> Result<Option<(Format, FormatChoice)>, Failure> {
    if let Some(format) = dataset.format {
        return Ok(Some((chosen(format), FormatChoice::Spec)));
    }
    let declared = pinned
        .format()
        .map(Format::from_name)
        .transpose()
        .map_err(Failure::input)?;
    Ok(declared.map(|format| (format, FormatChoice::Manifest)))
}

fn check_format(
    format: Format,
    options: &Options,
    reference: &Reference,
    is_parquet: bool,
) -> Result<(), Failure> {
    if is_parquet {
        format
            .check_reads_parquet()
            .map_err(|error| unusable(reference, &error))?;
    }
    options
        .check(format)
        .map_err(|error| Failure::Input(format!("Cannot use {reference}: {error}.")))
}

pub(super) fn unusable(reference: &Reference, error: &dyn std::error::Error) -> Failure {
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

pub(super) fn shard(file: &FetchedFile) -> ParquetShard {
    ParquetShard {
        path: file.path().to_owned(),
        name: file.name().to_owned(),
    }
}

/// The files with what was read of them.
fn listed(files: &[FetchedFile], read: &[Provenance]) -> Vec<DatasetFile> {
    let files = files.iter().zip(read);
    files
        .map(|(file, read)| DatasetFile {
            name: file.name().to_owned(),
            bytes: read.bytes,
            sha256: read.sha256.to_string(),
        })
        .collect()
}

/// The reader of a format that the spec names.
fn chosen(format: TraceFormat) -> Format {
    match format {
        TraceFormat::MooncakeTrace => Format::MooncakeTrace,
        TraceFormat::WorkloadTrace => Format::WorkloadTrace,
    }
}

/// The options of the spec, and what the manifest says where the spec is silent.
fn options(dataset: &Dataset, pinned: &Pinned) -> Result<Options, Failure> {
    let given = &dataset.options;
    let keep_headers = given
        .keep_headers
        .iter()
        .map(|name| HeaderName::parse(name))
        .collect::<Result<_, _>>()
        .map_err(Failure::input)?;
    Ok(Options {
        block_size: given.block_size.or_else(|| pinned.block_size()),
        timestamp_unit: given.timestamp_unit.map(unit),
        keep_headers,
        unknown_columns: match given.unknown_columns {
            UnknownColumns::Refuse => reprise_dataset::UnknownColumns::Refuse,
            UnknownColumns::Ignore => reprise_dataset::UnknownColumns::Ignore,
        },
    })
}

fn unit(unit: reprise_crds::TimestampUnit) -> TimestampUnit {
    match unit {
        reprise_crds::TimestampUnit::Seconds => TimestampUnit::Seconds,
        reprise_crds::TimestampUnit::Milliseconds => TimestampUnit::Milliseconds,
        reprise_crds::TimestampUnit::Microseconds => TimestampUnit::Microseconds,
        reprise_crds::TimestampUnit::Nanoseconds => TimestampUnit::Nanoseconds,
    }
}
