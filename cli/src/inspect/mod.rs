//! `reprise inspect`: what is in a trace, before anyone replays it.

mod chart;
mod table;

use std::convert::Infallible;

use reprise_contract::Digest;
use reprise_contract::summary::DatasetFile;
use reprise_crds::document::{self, Overrides};
use reprise_crds::{Dataset, FieldPath};
use reprise_dataset::inspection::Warning;
use reprise_dataset::{Inspection, Inspector};
use serde::Serialize;

use crate::args::InspectArguments;
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::{print, print_json};
use crate::prepare::{Known, TraceInput};
use crate::terminal;

/// What was read, and what is in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspected {
    source: String,
    format: &'static str,
    is_format_detected: bool,
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
    let dataset = dataset(arguments)?;
    let inspected = read(&dataset, &Interrupt::listen()?)?;
    if arguments.json {
        print_json(&inspected)?;
    } else {
        print(&table::render(&inspected, terminal::width().unwrap_or(u16::MAX)))?;
    }
    Ok(Done::Shown)
}

fn dataset(arguments: &InspectArguments) -> Result<Dataset, Failure> {
    let field = |name| FieldPath::spec().key("dataset").key(name);
    let mut overrides = Overrides::parse(&arguments.set).map_err(Failure::input)?;
    overrides.push("REFERENCE", field("source"), arguments.source.as_str());
    if let Some(format) = &arguments.format {
        overrides.push("--format", field("format"), format.as_str());
    }
    document::dataset(&overrides).map_err(Failure::input)
}

fn read(dataset: &Dataset, interrupt: &Interrupt) -> Result<Inspected, Failure> {
    let input = TraceInput::open(dataset)?;
    let (format, is_format_detected) = (input.format.name(), input.is_format_detected);
    let mut inspector = Inspector::default();
    let Known {
        facts,
        source,
        files,
        layout_warnings,
    } = input.read::<Infallible>(interrupt, &mut |turn| {
        inspector.add(&turn);
        Ok(())
    })?;
    let mut inspection = inspector.finish(&facts);
    let layout = layout_warnings.iter().map(|found| Warning {
        code: found.code(),
        message: found.to_string(),
    });
    inspection.warnings.splice(0..0, layout);
    Ok(Inspected {
        source: source.reference,
        format,
        is_format_detected,
        bytes: source.bytes,
        sha256: source.sha256,
        trace_sha256: source.trace_sha256,
        files,
        inspection,
    })
}
