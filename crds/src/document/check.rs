//! A document's value against the schema: every difference, in plain words.

use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

use super::problem::Problem;
use crate::duration::{TimeSpan, TimeSpanError};
use crate::nearest::{nearest, plain};
use crate::path::{FieldPath, Segment};
use crate::schema::{self, Shape, first_sentence};
use crate::unsupported;

/// `OpenAPI` 3.0 schemas are those of JSON Schema draft 4 (a boolean `exclusiveMinimum`, 4.0 is no integer).
static VALIDATOR: LazyLock<Result<Validator, String>> = LazyLock::new(|| {
    jsonschema::options()
        .with_draft(Draft::Draft4)
        .should_validate_formats(true)
        .with_format("duration", |text: &str| text.parse::<TimeSpan>().is_ok())
        .build(schema::root())
        .map_err(|error| error.to_string())
});

/// Everything in `document` that the schema does not allow.
pub(crate) fn check(document: &Value) -> Vec<Problem> {
    match VALIDATOR.as_ref() {
        Ok(validator) => validator
            .iter_errors(document)
            .flat_map(|error| problems(&error, document))
            .collect(),
        Err(error) => vec![Problem::new(
            FieldPath::root(),
            format!("cannot be checked, the schema is broken: {error}"),
        )],
    }
}

fn problems(error: &ValidationError<'_>, document: &Value) -> Vec<Problem> {
    let path = resolve(error.instance_path().as_str(), document);
    if let Kind::AdditionalProperties { unexpected } = error.kind() {
        return unexpected
            .iter()
            .map(|name| unknown_field(path.key(name.as_str())))
            .collect();
    }
    vec![problem(path, error)]
}

fn problem(path: FieldPath, error: &ValidationError<'_>) -> Problem {
    let found = error.instance().as_ref();
    let shape = schema::at(&path);
    if shape.is_some_and(Shape::is_duration)
        && let Some(reason) = duration_error(found)
    {
        return Problem::new(path, reason.to_string());
    }
    let length = found.as_str().map_or(0, |text| text.chars().count());
    let message = match error.kind() {
        Kind::Required { property } => return missing(path.key(property.as_str().unwrap_or_default())),
        Kind::Type { .. } => return wrong_type(path, shape, found),
        Kind::Enum { .. } | Kind::OneOfNotValid { .. } => return wrong_choice(path, shape, found),
        Kind::Minimum { limit } => format!("must be {limit} or more"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        Kind::MinLength { limit } => format!("has {length} characters, and must have {limit} or more"),
        Kind::MaxLength { limit } => format!("has {length} characters, and may have {limit} at most"),
        Kind::MinItems { limit } => format!("needs {} or more", counted(*limit, "entry", "entries")),
        Kind::MaxItems { limit } => format!("may have {} at most", counted(*limit, "entry", "entries")),
        Kind::MinProperties { limit } => return too_few_fields(path, shape, *limit),
        Kind::MaxProperties { limit } => format!("may have {} at most", counted(*limit, "field", "fields")),
        _ => error.masked().to_string(),
    };
    Problem::new(path, message)
}

/// Why a value at a duration's place is none. None for values that are of another kind altogether.
fn duration_error(found: &Value) -> Option<TimeSpanError> {
    match found {
        Value::String(text) => text.parse::<TimeSpan>().err(),
        Value::Number(number) => number.to_string().parse::<TimeSpan>().err(),
        _ => None,
    }
}

fn missing(path: FieldPath) -> Problem {
    let shape = schema::at(&path);
    let hint = if path == FieldPath::root().key("metadata") {
        // What its own description says is about Kubernetes.
        Some("Write metadata: {name: …}.".to_owned())
    } else {
        shape.and_then(|shape| match shape.choices().as_slice() {
            [only] => Some(format!("Write {}.", only.value)),
            _ => Some(first_sentence(shape.description())).filter(|sentence| !sentence.is_empty()),
        })
    };
    Problem {
        hint,
        ..Problem::new(path, "is required")
    }
}

fn unknown_field(path: FieldPath) -> Problem {
    if unsupported::is_planned(&path) {
        return Problem::new(path, "not supported yet");
    }
    if let Some(field) = unsupported::moved_to(&path) {
        return Problem::new(path, "is not a dataset option").hint(format!("Use {field}."));
    }
    let hint = unknown_field_hint(&path);
    Problem::new(path, "unknown field").hint(hint)
}

/// What may have been meant by a field that does not exist: a sibling, the same name elsewhere, or what there is.
pub(crate) fn unknown_field_hint(path: &FieldPath) -> String {
    let Some((parent, Segment::Key(name))) = path.split_last() else {
        return String::new();
    };
    let siblings: Vec<&str> = schema::at(&parent)
        .into_iter()
        .flat_map(Shape::fields)
        .map(|(name, _)| name)
        .collect();
    if let Some(sibling) = nearest(name, siblings.iter().copied()) {
        return format!("Did you mean \"{sibling}\"?");
    }
    if let Some(elsewhere) = schema::spec_fields()
        .into_iter()
        .find(|field| is_named(field, name))
    {
        return format!("Did you mean {elsewhere}?");
    }
    match siblings.as_slice() {
        [] => format!("{parent} has no fields."),
        siblings => format!("Known here: {}.", siblings.join(", ")),
    }
}

fn is_named(path: &FieldPath, name: &str) -> bool {
    matches!(path.segments().last(), Some(Segment::Key(last)) if plain(last) == plain(name))
}

fn wrong_type(path: FieldPath, shape: Option<Shape<'_>>, found: &Value) -> Problem {
    if found.is_null() {
        let hint = match path.segments().last() {
            Some(Segment::Index(_)) => "Give it one, or leave the entry out.",
            _ if schema::is_required(&path) => "Give it one.",
            _ => "Give it one, or leave the field out.",
        };
        return Problem::new(path, "has no value").hint(hint);
    }
    let expected = shape.map_or_else(String::new, Shape::type_name);
    let problem = Problem::new(
        path,
        format!("expected {}, got {}", with_article(&expected), describe(found)),
    );
    match (expected.as_str(), found) {
        ("string", Value::Bool(_) | Value::Number(_)) => problem.hint("Put it in quotes."),
        ("string", Value::Object(_)) => problem.hint("Put a name with dots in quotes."),
        ("integer" | "number", Value::String(text)) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => problem.hint("Leave the quotes out."),
            Ok(_) => problem.hint("Write a finite number."),
            Err(_) => problem,
        },
        ("boolean", Value::String(text)) if matches!(text.as_str(), "true" | "false" | "yes" | "no") => {
            problem.hint("Leave the quotes out.")
        }
        _ => problem,
    }
}

fn wrong_choice(path: FieldPath, shape: Option<Shape<'_>>, found: &Value) -> Problem {
    let choices: Vec<String> = shape
        .into_iter()
        .flat_map(Shape::choices)
        .map(|choice| choice.value)
        .collect();
    if found.is_null() {
        return Problem::new(path, "has no value").hint(one_of(&choices));
    }
    let Value::String(text) = found else {
        return Problem::new(path, format!("expected a string, got {}", describe(found)))
            .hint(one_of(&choices));
    };
    let hint = match nearest(text, choices.iter().map(String::as_str)) {
        Some(near) if choices.len() > 1 => format!("Did you mean \"{near}\"? {}", one_of(&choices)),
        _ => one_of(&choices),
    };
    Problem::new(path, format!("unknown value {}", quoted(text))).hint(hint)
}

fn one_of(choices: &[String]) -> String {
    match choices {
        [only] => format!("Write {only}."),
        choices => format!("Use one of {}.", choices.join(", ")),
    }
}

fn too_few_fields(path: FieldPath, shape: Option<Shape<'_>>, limit: u64) -> Problem {
    let names: Vec<&str> = shape
        .into_iter()
        .flat_map(Shape::fields)
        .map(|(name, _)| name)
        .collect();
    let problem = Problem::new(
        path,
        format!("needs {} or more", counted(limit, "field", "fields")),
    );
    problem.hint(format!("Known here: {}.", names.join(", ")))
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "object" => "a mapping".to_owned(),
        "integer" => "an integer".to_owned(),
        "boolean" => "true or false".to_owned(),
        name => format!("a {name}"),
    }
}

/// What stands there, in words; the text of a string is not repeated, it may be long or secret.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// A text in quotes, cut when it is long.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A JSON pointer as a path. Whether `0` is a key or an index depends on what stands there.
fn resolve(pointer: &str, document: &Value) -> FieldPath {
    let mut path = FieldPath::root();
    let mut here = Some(document);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let segment = match (here, token.parse()) {
            (Some(Value::Array(_)), Ok(index)) => Segment::Index(index),
            _ => Segment::Key(token),
        };
        here = here.and_then(|value| FieldPath::root().join(segment.clone()).find(value));
        path = path.join(segment);
    }
    path
}
