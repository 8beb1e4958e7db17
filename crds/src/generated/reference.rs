//! The reference page of `ReplayJob`.

use std::fmt;

use crate::explain::{ExplainError, Explanation, explain};
use crate::schema::{Choice, one_line};
use crate::unsupported;

const INTRODUCTION: &str = "\
A `ReplayJob` (`apiVersion: reprise.dev/v1alpha1`) says what to replay, against which endpoint, on what schedule, and
what to keep of it. Fields that are not on this page are refused. What is not wanted is left out: `null` is refused too.

**Durations** are written as in Kubernetes: decimal numbers, each with a unit (`ns`, `us`, `ms`, `s`, `m`, `h`), added up:
`500ms`, `1.5s`, `1h30m`. A number without a unit is refused everywhere, zero too (`0s` is right). There are no negative
ones.
";

/// The page, in Markdown.
///
/// # Errors
///
/// None in practice: the spec is there to be explained.
pub fn reference_markdown() -> Result<String, ExplainError> {
    explain(None).map(|spec| Page(spec).to_string())
}

struct Page(Explanation);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "<!-- Made from crds/src/spec by `{}`; do not edit. -->\n\n# ReplayJob\n",
            super::COMMAND
        )?;
        f.write_str(INTRODUCTION)?;
        write_section(f, &self.0)?;
        writeln!(
            f,
            "\n## Not supported yet\n\nThese are refused, and will be fields:\n"
        )?;
        for field in unsupported::PLANNED_FIELDS {
            writeln!(f, "- `{field}`")?;
        }
        writeln!(f, "\n## Dataset options of other tools\n")?;
        writeln!(
            f,
            "Under `spec.dataset.options` these are refused, in `camelCase` and in `snake_case`:\n"
        )?;
        writeln!(f, "| option | write |\n| --- | --- |")?;
        for (option, field) in unsupported::MOVED_OPTIONS {
            writeln!(f, "| `{option}` | `{field}` |")?;
        }
        Ok(())
    }
}

/// A heading and a table for the fields of one object, then the same for the objects in it.
fn write_section(f: &mut fmt::Formatter<'_>, object: &Explanation) -> fmt::Result {
    writeln!(f, "\n## {}\n\n{}\n", object.path, one_line(&object.description))?;
    writeln!(
        f,
        "| field | type | default | meaning |\n| --- | --- | --- | --- |"
    )?;
    for field in &object.fields {
        writeln!(f, "{}", row(field))?;
    }
    object
        .fields
        .iter()
        .filter(|field| !field.fields.is_empty())
        .try_for_each(|field| write_section(f, field))
}

fn row(field: &Explanation) -> String {
    let mut kind = vec![field.kind.clone()];
    kind.extend(field.limits.iter().cloned());
    let default = match field.default_text() {
        Some(default) => format!("`{default}`"),
        None if field.required => "required".to_owned(),
        None => String::new(),
    };
    let mut meaning = vec![one_line(&field.description)];
    meaning.extend(
        field
            .choices
            .iter()
            .map(|Choice { value, description }| format!("`{value}`: {}", one_line(description))),
    );
    let meaning = meaning.join("<br>").replace('|', "\\|");
    format!(
        "| `{}` | {} | {default} | {meaning} |",
        field.name(),
        kind.join(", ")
    )
}
