//! `reprise publish-check`: whether a trace is ready to be run by others.

use std::convert::Infallible;

use reprise_contract::summary::DatasetFile;
use reprise_dataset_manager::prepare::{FormatChoice, Known, TraceInput, Waiting};
use reprise_report::numbers::{count, counted};

use crate::args::PublishCheckArguments;
use crate::dataset::dataset;
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::print;
use crate::progress::Shown;

/// Reads the trace as a run of someone else would, all of it, and says what was found.
pub(crate) fn publish_check(arguments: &PublishCheckArguments) -> Result<Done, Failure> {
    let dataset = dataset(&arguments.dataset)?;
    let interrupt = Interrupt::listen()?;
    let shown = Shown::default();
    let waiting = Waiting::new(interrupt.cancel(), &shown).map_err(Failure::preparing)?;
    let input = TraceInput::open(&dataset, None, &|_| Ok(()), &waiting).map_err(Failure::preparing)?;
    let (format, choice) = (input.format.name(), input.format_choice);
    let known = input
        .read::<Infallible>(&waiting, &mut |_| Ok(()))
        .map_err(Failure::preparing)?;
    print(&report(&known, format, choice))?;
    if choice == FormatChoice::Detected {
        return Err(Failure::Input(format!(
            "Cannot use {}: nothing in it says its format, and the format of a remote trace is never guessed. Add a \
             reprise.json that names it, or tell people to name it: {format}.",
            known.source.reference
        )));
    }
    Ok(Done::Shown)
}

fn report(known: &Known, format: &str, choice: FormatChoice) -> String {
    let Known {
        facts,
        source,
        files,
        record,
    } = known;
    let named = match choice {
        FormatChoice::Manifest => "as its manifest says",
        FormatChoice::Spec => "as the command says; others have to name it too",
        FormatChoice::Detected => "told by its first record",
    };
    let digest = if files.len() > 1 {
        "digest of its files"
    } else {
        "SHA-256"
    };
    let mut lines = vec![
        match &record.manifest {
            Some(DatasetFile { name, .. }) => format!("manifest: {name} is valid"),
            None => "manifest: none".to_owned(),
        },
        format!("format:   {format}, {named}"),
        format!(
            "trace:    {}, {} bytes, {digest} {}",
            counted(u64::from(facts.records), "record", "records"),
            count(source.bytes),
            source.sha256
        ),
        format!(
            "times:    {}",
            if facts.is_timed {
                "recorded; it is replayed on its recorded schedule"
            } else {
                "none"
            }
        ),
    ];
    if let Some(pin) = &record.pin {
        lines.push(match (&pin.canonical, &pin.version) {
            (Some(canonical), _) => format!("pinned:   {canonical}"),
            (None, Some(version)) => format!("pinned:   {version}; no reference names it for good"),
            (None, None) => "pinned:   not at all: the server tells no version".to_owned(),
        });
    }
    let warnings = record.warnings.iter().map(ToString::to_string);
    let warnings = warnings.chain(facts.warnings.iter().map(ToString::to_string));
    lines.extend(warnings.map(|warning| format!("warning:  {warning}")));
    lines.join("\n") + "\n"
}
