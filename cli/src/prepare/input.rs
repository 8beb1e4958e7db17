//! The trace that a spec names, opened, with its format known.

use std::io::BufRead;

use reprise_content::Turn;
use reprise_crds::{Dataset, TraceFormat, UnknownColumns};
use reprise_dataset::{Facts, Format, HeaderName, Options, ReadError, TimestampUnit};
use reprise_source::{Provenance, Reference, SourceError, Trace};

use super::progress::Reading;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// A trace that is open, with its format and the options to read it with.
pub(crate) struct TraceInput {
    pub(crate) reference: Reference,
    pub(crate) format: Format,
    pub(crate) is_format_detected: bool,
    options: Options,
    trace: Trace,
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
        let mut trace = reprise_source::open(&reference).map_err(Failure::input)?;
        let (format, is_format_detected) = match dataset.format {
            Some(format) => (chosen(format), false),
            None => (detect(&reference, &mut trace)?, true),
        };
        options
            .check(format)
            .map_err(|error| Failure::Input(format!("Cannot use {reference}: {error}.")))?;
        Ok(Self {
            reference,
            format,
            is_format_detected,
            options,
            trace,
        })
    }

    /// Reads every record. Gives back what is known of the trace, and what exactly was read.
    pub(crate) fn read<E: std::error::Error + Send + Sync + 'static>(
        mut self,
        interrupt: &Interrupt,
        sink: &mut dyn FnMut(Turn) -> Result<(), E>,
    ) -> Result<(Facts, Provenance), Failure> {
        let reading = Reading::show(&self.reference, self.trace.progress());
        let mut checked = |turn: Turn| {
            if interrupt.is_set() {
                return Err(Stop::Interrupted);
            }
            sink(turn).map_err(Stop::Sink)
        };
        let facts = reprise_dataset::read(self.format, &mut self.trace, &self.options, &mut checked);
        let reference = self.reference;
        let facts = facts.map_err(|error| failure(&reference, error))?;
        let provenance = self.trace.finish().map_err(Failure::input)?;
        drop(reading);
        Ok((facts, provenance))
    }
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

/// The format that the first record looks like.
fn detect(reference: &Reference, trace: &mut Trace) -> Result<Format, Failure> {
    let start = trace
        .fill_buf()
        .map_err(|error| Failure::Input(error.to_string()))?;
    if start.is_empty() {
        return Err(Failure::Input(format!(
            "Cannot use {reference}: it is empty. Point dataset.source at a trace with at least one record."
        )));
    }
    let text = String::from_utf8_lossy(start);
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    Format::detect(first)
        .ok_or_else(|| no_format(reference, "its first record looks like none of the known formats"))
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
