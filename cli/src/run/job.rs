//! The job that the command line gives: a file, arguments, or both.

use std::io::Read;
use std::path::Path;

use reprise_crds::FieldPath;
use reprise_crds::document::{self, Document, Overrides};

use crate::args::{JobArguments, RunArguments};
use crate::exit::Failure;

/// Reads and checks the job.
pub(super) fn read(arguments: &RunArguments) -> Result<Document, Failure> {
    let overrides = overrides(&arguments.job)?;
    let Some(file) = &arguments.file else {
        if arguments.job.is_empty() {
            return Err(Failure::Input(
                "Name a ReplayJob (reprise run FILE), or give --source and --target.".to_owned(),
            ));
        }
        return Document::blank(&overrides).map_err(Failure::input);
    };
    let (text, name) = read_text(file)?;
    document::read(&text, &overrides).map_err(|problems| Failure::input(problems.in_file(name)))
}

fn read_text(file: &Path) -> Result<(String, String), Failure> {
    let is_standard_input = file == Path::new("-");
    let (text, name) = if is_standard_input {
        let mut text = String::new();
        (
            std::io::stdin().read_to_string(&mut text).map(|_| text),
            "standard input".to_owned(),
        )
    } else {
        (std::fs::read_to_string(file), file.display().to_string())
    };
    text.map(|text| (text, name.clone())).map_err(|error| {
        Failure::Input(format!(
            "Cannot use {name}: {error}. Name a ReplayJob in a YAML file."
        ))
    })
}

/// What arguments say, as fields of the spec.
fn overrides(arguments: &JobArguments) -> Result<Overrides, Failure> {
    let mut overrides = Overrides::parse(&arguments.set).map_err(Failure::input)?;
    let dataset = || FieldPath::spec().key("dataset");
    let target = || FieldPath::spec().key("target");
    if let Some(source) = &arguments.source {
        overrides.push("--source", dataset().key("source"), source.as_str());
    }
    if let Some(format) = &arguments.format {
        overrides.push("--format", dataset().key("format"), format.as_str());
    }
    if !arguments.target.is_empty() {
        overrides.push("--target", target().key("urls"), arguments.target.clone());
    }
    if let Some(model) = &arguments.model {
        overrides.push("--model", target().key("model"), model.as_str());
    }
    Ok(overrides)
}
