//! `reprise explain`.

use crate::args::ExplainArguments;
use crate::exit::{Done, Failure};
use crate::output::print;

/// Prints what a field of the spec means.
pub(crate) fn explain(arguments: &ExplainArguments) -> Result<Done, Failure> {
    let explanation = reprise_crds::explain(arguments.path.as_deref()).map_err(Failure::input)?;
    print(&explanation.to_string())?;
    Ok(Done::Shown)
}
