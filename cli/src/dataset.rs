//! A dataset that a command line gives, without a job.

use reprise_crds::document::{self, Overrides};
use reprise_crds::{Dataset, FieldPath};

use crate::args::DatasetArguments;
use crate::exit::Failure;

/// Checks what the arguments say as the dataset of a job is checked.
pub(crate) fn dataset(arguments: &DatasetArguments) -> Result<Dataset, Failure> {
    let field = |name| FieldPath::spec().key("dataset").key(name);
    let mut overrides = Overrides::parse(&arguments.set).map_err(Failure::input)?;
    overrides.push("REFERENCE", field("source"), arguments.source.as_str());
    if let Some(format) = &arguments.format {
        overrides.push("--format", field("format"), format.as_str());
    }
    document::dataset(&overrides).map_err(Failure::input)
}
