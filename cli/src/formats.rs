//! `reprise formats`.

use reprise_dataset::Format;
use serde_json::json;

use crate::args::FormatsArguments;
use crate::exit::{Done, Failure};
use crate::output::{print, print_json};

/// Lists the trace formats.
pub(crate) fn formats(arguments: &FormatsArguments) -> Result<Done, Failure> {
    if arguments.json {
        let formats: Vec<_> = Format::all().iter().map(|format| as_json(*format)).collect();
        print_json(&formats)?;
    } else {
        let texts: Vec<_> = Format::all().iter().map(|format| as_text(*format)).collect();
        print(&texts.join("\n"))?;
    }
    Ok(Done::Shown)
}

fn as_json(format: Format) -> serde_json::Value {
    json!({
        "name": format.name(),
        "description": format.description(),
        "columns": format.columns(),
        "options": options(format),
        "timestampUnit": format.default_timestamp_unit().name(),
    })
}

fn as_text(format: Format) -> String {
    format!(
        "{}\n  {}.\n  Columns: {}\n  Options: {}\n  A number in a time column: {}, unless dataset.options.timestampUnit says \
         otherwise\n",
        format.name(),
        format.description(),
        format.columns().join(", "),
        options(format).join(", "),
        format.default_timestamp_unit().name(),
    )
}

fn options(format: Format) -> Vec<&'static str> {
    format.options().iter().map(|option| option.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_described() {
        let texts: Vec<_> = Format::all().iter().map(|format| as_text(*format)).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
