//! Shows a result on the terminal.

use reprise_contract::Summary;
use reprise_report::table;

use crate::exit::Failure;
use crate::output::{print, print_json};
use crate::terminal;

/// Columns of a table where there is no terminal to ask.
const DEFAULT_WIDTH: u16 = 100;

/// Prints the summary.
pub(super) fn show(summary: &Summary, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print_json(summary);
    }
    let width = terminal::width().unwrap_or(DEFAULT_WIDTH);
    print(&table::render(summary, width))
}
