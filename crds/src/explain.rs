//! What a field means, from the schema: `reprise explain replay.speed`.

use std::fmt;

use serde_json::Value;

use crate::document::unknown_field_hint;
use crate::path::{FieldPath, PathError};
use crate::schema::{self, Choice, Shape, first_sentence};
use crate::unsupported;

/// What is known about a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Where the field stands, from the root of the document.
    pub path: FieldPath,
    /// What may be written.
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// Its default, if that is the same always.
    pub default: Option<Value>,
    /// Its bounds, in words.
    pub limits: Vec<String>,
    /// Its values, if they are listed.
    pub choices: Vec<Choice>,
    /// What it means.
    pub description: String,
    /// The fields in it.
    pub fields: Vec<Explanation>,
}

/// Why there is nothing to explain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The path cannot be read.
    #[error("Cannot explain {path:?}: it {source}.")]
    Path {
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// There will be such a field.
    #[error("Cannot explain {0}: not supported yet.")]
    Planned(FieldPath),
    /// There is no such field.
    #[error("Cannot explain {path}: there is no such field. {hint}")]
    Unknown {
        /// What was asked for.
        path: FieldPath,
        /// What may have been meant.
        hint: String,
    },
}

/// Explains the field at `path`, written from `spec` on (`spec.` may stand before it); the whole spec without one.
///
/// # Errors
///
/// [`ExplainError`] when there is no such field, with the nearest name that there is.
pub fn explain(path: Option<&str>) -> Result<Explanation, ExplainError> {
    let asked = match path {
        None => FieldPath::spec(),
        Some(text) => {
            let path: FieldPath = text.parse().map_err(|source| ExplainError::Path {
                path: text.to_owned(),
                source,
            })?;
            if path.is_within(&FieldPath::spec()) {
                path
            } else {
                FieldPath::spec().concat(&path)
            }
        }
    };
    explain_at(&asked)
}

fn explain_at(path: &FieldPath) -> Result<Explanation, ExplainError> {
    match schema::at(path) {
        Some(shape) => Ok(of(path.clone(), shape, schema::is_required(path))),
        None if unsupported::is_planned(path) => Err(ExplainError::Planned(path.clone())),
        None => Err(ExplainError::Unknown {
            path: path.clone(),
            hint: hint(path),
        }),
    }
}

/// Speaks of the first field on the way that does not exist.
fn hint(path: &FieldPath) -> String {
    let missing = path
        .ancestors()
        .take_while(|path| schema::at(path).is_none())
        .last();
    missing.as_ref().map(unknown_field_hint).unwrap_or_default()
}

fn of(path: FieldPath, shape: Shape<'_>, required: bool) -> Explanation {
    let inner = shape.entries().unwrap_or(shape);
    let fields = inner
        .fields()
        .map(|(name, field)| of(path.key(name), field, inner.requires(name)))
        .collect();
    Explanation {
        kind: shape.type_name(),
        required,
        default: shape.default().cloned(),
        limits: shape.limits(),
        choices: shape.choices(),
        description: shape.description().to_owned(),
        fields,
        path,
    }
}

impl Explanation {
    /// Type, necessity, bounds and default in one line: `number, more than 0, default 1.0`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut parts = vec![self.kind.clone()];
        parts.extend(self.required.then(|| "required".to_owned()));
        parts.extend(self.limits.iter().cloned());
        parts.extend(self.default_text().map(|default| format!("default {default}")));
        parts.join(", ")
    }

    /// The default as one would write it. None where its fields say more.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        match self.default.as_ref()? {
            Value::Object(_) => None,
            Value::String(text) => Some(text.clone()),
            value => Some(value.to_string()),
        }
    }

    /// The name without where it stands.
    #[must_use]
    pub fn name(&self) -> String {
        let last = self.path.segments().last();
        last.map(|segment| FieldPath::root().join(segment.clone()).to_string())
            .unwrap_or_default()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n", self.path, self.summary())?;
        for line in self.description.lines() {
            writeln!(f, "  {line}")?;
        }
        if !self.choices.is_empty() {
            writeln!(f, "\nValues:")?;
        }
        let width = self
            .choices
            .iter()
            .map(|choice| choice.value.len())
            .max()
            .unwrap_or(0);
        for Choice { value, description } in &self.choices {
            writeln!(f, "  {value:width$}  {}", schema::one_line(description))?;
        }
        if !self.fields.is_empty() {
            writeln!(f, "\nFields:")?;
        }
        for field in &self.fields {
            writeln!(f, "  {}: {}", field.name(), field.summary())?;
            writeln!(f, "      {}", first_sentence(&field.description))?;
        }
        Ok(())
    }
}
