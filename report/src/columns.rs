//! Tables of plain text: no borders, a line under the heading.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

const UNDERLINED_HEADING: TableStyle = TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─'));

/// The narrowest a table gets: narrower ones break every word, or lose columns.
const NARROWEST: u16 = 60;

/// An empty table, `width` columns wide, but no less than 60.
#[must_use]
pub fn table(width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(UNDERLINED_HEADING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(NARROWEST));
    table
}

/// The text of a table, with little space between its columns and none at the ends of its lines.
#[must_use]
pub fn text(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}
