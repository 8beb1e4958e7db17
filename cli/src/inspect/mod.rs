//! `reprise inspect`: what is in a trace, before anyone replays it.

mod chart;
mod table;

use std::convert::Infallible;

use reprise_contract::Digest;
use reprise_contract::summary::{DatasetFile, Pin};
use reprise_crds::Dataset;
use reprise_dataset::inspection::Warning;
use reprise_dataset::{Inspection, Inspector};
use reprise_dataset_manager::prepare::{FormatChoice, Known, TraceInput, Waiting};
use serde::Serialize;

use crate::args::InspectArguments;
use crate::dataset::dataset;
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::{print, print_json};
use crate::progress::Shown;
use crate::terminal;

/// What was read, and what is in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspected {
    source: String,
    format: &'static str,
    is_format_detected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Pin>,
    bytes: u64,
    sha256: Digest,
    trace_sha256: Digest,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<DatasetFile>,
    #[serde(flatten)]
    inspection: Inspection,
}

/// Reads a trace as a run would, and says what is in it.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<Done, Failure> {
    let dataset = dataset(&arguments.dataset)?;
    let inspected = read(&dataset, &Interrupt::listen()?)?;
    if arguments.json {
        print_json(&inspected)?;
    } else {
        print(&table::render(&inspected, terminal::width().unwrap_or(u16::MAX)))?;
    }
    Ok(Done::Shown)
}

fn read(dataset: &Dataset, interrupt: &Interrupt) -> Result<Inspected, Failure> {
    let shown = Shown::default();
    let waiting = Waiting::new(interrupt.cancel(), &shown).map_err(Failure::preparing)?;
    let input = TraceInput::open(dataset, None, &|_| Ok(()), &waiting).map_err(Failure::preparing)?;
    let (format, format_choice) = (input.format.name(), input.format_choice);
    let mut inspector = Inspector::default();
    let Known {
        facts,
        source,
        files,
        record,
    } = input
        .read::<Infallible>(&waiting, &mut |turn| {
            inspector.add(&turn);
            Ok(())
        })
        .map_err(Failure::preparing)?;
    let mut inspection = inspector.finish(&facts);
    let of_source = record.warnings.iter().map(|found| Warning {
        code: found.code(),
        message: found.to_string(),
    });
    inspection.warnings.splice(0..0, of_source);
    Ok(Inspected {
        source: source.reference,
        format,
        is_format_detected: format_choice == FormatChoice::Detected,
        pin: record.pin,
        bytes: source.bytes,
        sha256: source.sha256,
        trace_sha256: source.trace_sha256,
        files,
        inspection,
    })
}
