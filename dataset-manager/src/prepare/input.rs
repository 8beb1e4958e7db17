//! The trace that a spec names: on this machine, with its format known, and ready to be read.

use std::io::BufRead;

use reprise_content::Turn;
use reprise_contract::summary::DatasetFile;
use reprise_crds::{Api, Dataset, TraceFormat, UnknownColumns};
use reprise_dataset::{
    Facts, Format, HeaderName, Options, ParquetShard, ParquetTrace, ReadError, TimestampUnit,
};
use reprise_source::{FetchedFile, Pinned, Provenance, Reference, SourceError, Trace, is_parquet};

use super::error::PrepareError;
use super::first_record::{self, Times};
use super::observer::Activity;
use super::parquet;
use super::source::{Checked, OnMachine, Record};
use super::waiting::Waiting;
use crate::load::LoadError;

/// A trace that is open, with its format and the options to read it with.
pub struct TraceInput {
    reference: Reference,
    /// Its format.
    pub format: Format,
    /// Who named the format.
    pub format_choice: FormatChoice,
    /// What to read it with.
    pub options: Options,
    records: Records,
    record: Record,
    /// What was fetched stays in the cache for as long as it is read.
    files: Vec<FetchedFile>,
}

/// Who named the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatChoice {
    /// The spec.
    Spec,
    /// The manifest or sidecar.
    Manifest,
    /// Nobody: the first record shows it.
    Detected,
}

/// What is known of a trace once it was read.
pub struct Known {
    /// What its records say.
    pub facts: Facts,
    /// What exactly was read.
    pub source: Provenance,
    /// Its files, where it was fetched or has several.
    pub files: Vec<DatasetFile>,
    /// Where it came from.
    pub record: Record,
}

/// Whether a trace may have times, or must have them; asked before it is downloaded.
pub type CheckTimes<'a> = &'a dyn Fn(Times) -> Result<(), LoadError>;

/// What the records are read from.
enum Records {
    Lines(Box<Trace>),
    Rows(ParquetTrace),
}

/// Why reading stops before the end of the trace.
#[derive(Debug, thiserror::Error)]
enum Stop<E: std::error::Error> {
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Sink(E),
}

impl TraceInput {
    /// Checks access, looks at the first record of a remote trace, fetches what is not there yet, and opens it.
    ///
    /// Where neither spec nor manifest name a format, the first record of a local file tells it; that of a remote trace is
    /// never guessed.
    ///
    /// # Errors
    /// When it cannot be had, does not go with the spec, or its format is not known.
    pub fn open(
        dataset: &Dataset,
        api: Option<Api>,
        check_times: CheckTimes<'_>,
        waiting: &Waiting<'_>,
    ) -> Result<Self, PrepareError> {
        let checked = Checked::new(dataset, api, waiting)?;
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
            && let Some(times) = first_record::look(&checked, format, &options, waiting)?
        {
            check_times(times)?;
        }
        let are_parquet = checked.pinned.is_parquet();
        let OnMachine {
            reference,
            fetched,
            record,
        } = checked.fetch(waiting)?;
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
    ///
    /// # Errors
    /// When a record cannot be used, or `sink` fails.
    pub fn read<E: std::error::Error + Send + Sync + 'static>(
        self,
        waiting: &Waiting<'_>,
        sink: &mut dyn FnMut(Turn) -> Result<(), E>,
    ) -> Result<Known, PrepareError> {
        let mut checked = |turn: Turn| {
            if waiting.cancel().is_cancelled() {
                return Err(Stop::Cancelled);
            }
            sink(turn).map_err(Stop::Sink)
        };
        let (reference, format, options) = (&self.reference, self.format, &self.options);
        let is_fetched = self.record.pin.is_some();
        let (facts, read) = match self.records {
            Records::Lines(mut trace) => {
                let reading = waiting.begin(Activity::Reading {
                    reference: reference.clone(),
                    progress: trace.progress(),
                });
                let facts = reprise_dataset::read(format, &mut *trace, options, &mut checked)
                    .map_err(|error| failure(reference, error))?;
                let source = trace.finish()?;
                drop(reading);
                (facts, vec![source])
            }
            Records::Rows(trace) => parquet::with_provenance(reference, &self.files, waiting, || {
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
    fn open(reference: &Reference, files: &[FetchedFile], are_parquet: bool) -> Result<Self, PrepareError> {
        let rows = || Self::Rows(ParquetTrace::of(files.iter().map(shard).collect()));
        let [only] = files else {
            return Ok(rows());
        };
        if are_parquet {
            return Ok(rows());
        }
        let mut trace = only.open()?;
        let start = trace.fill_buf().map_err(PrepareError::Stream)?;
        if !is_parquet(start) {
            return Ok(Self::Lines(Box::new(trace)));
        }
        if trace.is_plain() && only.path().is_file() {
            return Ok(rows());
        }
        Err(PrepareError::PackedParquet {
            reference: reference.clone(),
        })
    }

    /// The format that the first record looks like.
    fn detect(&mut self, reference: &Reference) -> Result<Format, PrepareError> {
        let first = match self {
            Self::Lines(trace) => first_line(trace)?,
            Self::Rows(trace) => trace
                .first_record()
                .map_err(|error| PrepareError::trace(reference, error))?,
        };
        let Some(first) = first else {
            return Err(PrepareError::Empty {
                reference: reference.clone(),
            });
        };
        Format::detect(&first)
            .ok_or_else(|| no_format(reference, "its first record looks like none of the known formats"))
    }
}

/// The format that the spec names, else the one that the manifest names.
fn declared_format(
    dataset: &Dataset,
    pinned: &Pinned,
) -> Result<Option<(Format, FormatChoice)>, PrepareError> {
    if let Some(format) = dataset.format {
        return Ok(Some((chosen(format), FormatChoice::Spec)));
    }
    let declared = pinned.format().map(Format::from_name).transpose()?;
    Ok(declared.map(|format| (format, FormatChoice::Manifest)))
}

fn check_format(
    format: Format,
    options: &Options,
    reference: &Reference,
    is_parquet: bool,
) -> Result<(), PrepareError> {
    if is_parquet {
        format
            .check_reads_parquet()
            .map_err(|error| PrepareError::trace(reference, error))?;
    }
    options.check(format).map_err(|problem| PrepareError::Options {
        reference: reference.clone(),
        problem,
    })
}

fn failure<E: std::error::Error + Send + Sync + 'static>(
    reference: &Reference,
    error: ReadError<Stop<E>>,
) -> PrepareError {
    match error {
        ReadError::Sink(Stop::Cancelled) => PrepareError::Cancelled,
        ReadError::Sink(Stop::Sink(error)) => PrepareError::Sink(error.into()),
        // The source's own error says it all.
        ReadError::Io { source, .. } if SourceError::behind(&source).is_some() => {
            PrepareError::Stream(source)
        }
        error => PrepareError::trace(reference, error),
    }
}

/// The first line with something on it, as far as the first bytes show it. `None` when there are no bytes.
fn first_line(trace: &mut Trace) -> Result<Option<String>, PrepareError> {
    let start = trace.fill_buf().map_err(PrepareError::Stream)?;
    if start.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(start);
    let first = text.lines().find(|line| !line.trim().is_empty());
    Ok(Some(first.unwrap_or_default().to_owned()))
}

fn no_format(reference: &Reference, problem: &'static str) -> PrepareError {
    PrepareError::NoFormat {
        reference: reference.clone(),
        problem,
    }
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
fn options(dataset: &Dataset, pinned: &Pinned) -> Result<Options, PrepareError> {
    let given = &dataset.options;
    let keep_headers = given
        .keep_headers
        .iter()
        .map(|name| HeaderName::parse(name))
        .collect::<Result<_, _>>()?;
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
