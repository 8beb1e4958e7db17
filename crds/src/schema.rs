//! The schema of a `ReplayJob` document, made from the types, and how to read it.
//!
//! It is an `OpenAPI` 3.0 schema, as the API server uses it, and stricter in one way: fields that are not in it are
//! refused, where the API server would drop them.

use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::path::{FieldPath, Segment};
use crate::spec::{ReplayJob, ReplayJobSpec};

static ROOT: LazyLock<Value> = LazyLock::new(|| {
    let mut metadata = of::<ObjectMeta>();
    metadata["additionalProperties"] = Value::Bool(false);
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": { "type": "string", "enum": [ReplayJob::api_version(&())] },
            "kind": { "type": "string", "enum": [ReplayJob::kind(&())] },
            "metadata": metadata,
            "spec": of::<ReplayJobSpec>(),
            // Written by the operator; whatever stands there is not read.
            "status": {},
        },
    })
});

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    SchemaGenerator::new(settings)
        .into_root_schema_for::<T>()
        .to_value()
}

/// The schema of the whole document.
pub(crate) fn root() -> &'static Value {
    &ROOT
}

/// The schema of the field at `path`, if there is such a field.
pub(crate) fn at(path: &FieldPath) -> Option<Shape<'static>> {
    path.segments()
        .iter()
        .try_fold(Shape(root()), |shape, segment| match segment {
            Segment::Key(name) => shape.field(name).or_else(|| shape.values()),
            Segment::Index(_) => shape.entries(),
        })
}

/// Whether the field at `path` must be there.
pub(crate) fn is_required(path: &FieldPath) -> bool {
    let Some((parent, Segment::Key(name))) = path.split_last() else {
        return false;
    };
    at(&parent).is_some_and(|shape| shape.requires(name))
}

/// Every field of the spec, those of lists and maps excepted.
pub(crate) fn spec_fields() -> Vec<FieldPath> {
    let mut found = Vec::new();
    let mut open = vec![FieldPath::spec()];
    while let Some(path) = open.pop() {
        for (name, _) in at(&path).into_iter().flat_map(Shape::fields) {
            let field = path.key(name);
            open.push(field.clone());
            found.push(field);
        }
    }
    found.sort();
    found
}

/// A part of the schema: what one field may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a>(&'a Value);

/// One value that a field may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// What it means.
    pub description: String,
}

impl<'a> Shape<'a> {
    /// What may be written, in one word or a few.
    pub(crate) fn type_name(self) -> String {
        if self.is_duration() {
            return "duration".to_owned();
        }
        if let Some(entries) = self.entries() {
            return format!("list of {}s", entries.type_name());
        }
        if let Some(values) = self.values() {
            return format!("map of {}s", values.type_name());
        }
        match self.text("type") {
            // An enum without a description has no type of its own.
            None => "string".to_owned(),
            Some(name) => name.to_owned(),
        }
    }

    /// Whether it is a length of time.
    pub(crate) fn is_duration(self) -> bool {
        self.text("format") == Some("duration")
    }

    /// The whole description.
    pub(crate) fn description(self) -> &'a str {
        self.text("description").unwrap_or_default()
    }

    /// The default, if it is the same always.
    pub(crate) fn default(self) -> Option<&'a Value> {
        self.0.get("default")
    }

    /// The names of the fields, with what each may be.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'a str, Shape<'a>)> {
        self.0
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::iter)
            .map(|(name, schema)| (name.as_str(), Shape(schema)))
    }

    /// Whether the field `name` must be there.
    pub(crate) fn requires(self, name: &str) -> bool {
        self.0
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|known| known == name))
    }

    fn field(self, name: &str) -> Option<Self> {
        self.0.get("properties")?.get(name).map(Self)
    }

    /// What the values of a map may be.
    fn values(self) -> Option<Self> {
        self.0
            .get("additionalProperties")
            .filter(|schema| schema.is_object())
            .map(Self)
    }

    /// What the entries of a list may be.
    pub(crate) fn entries(self) -> Option<Self> {
        self.0.get("items").map(Self)
    }

    /// The values that are allowed, if they are listed.
    pub(crate) fn choices(self) -> Vec<Choice> {
        let documented = self
            .0
            .get("oneOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(Shape);
        documented.chain([self]).flat_map(Shape::own_choices).collect()
    }

    fn own_choices(self) -> impl Iterator<Item = Choice> {
        let values = self
            .0
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        values.map(move |value| Choice {
            value: value.to_owned(),
            description: self.description().to_owned(),
        })
    }

    /// The bounds, in words.
    pub(crate) fn limits(self) -> Vec<String> {
        let mut limits = Vec::new();
        let exclusive = self
            .0
            .get("exclusiveMinimum")
            .is_some_and(|switch| switch == true);
        match (self.0.get("minimum"), self.0.get("maximum")) {
            (Some(minimum), _) if exclusive => limits.push(format!("more than {minimum}")),
            (Some(minimum), Some(maximum)) => limits.push(format!("{minimum} to {maximum}")),
            (Some(minimum), None) => limits.push(format!("{minimum} or more")),
            (None, Some(maximum)) => limits.push(format!("at most {maximum}")),
            (None, None) => {}
        }
        limits.extend(self.count("minItems", "maxItems", "entries"));
        limits.extend(self.count("minProperties", "maxProperties", "fields"));
        if !self.is_duration() {
            limits.extend(self.count("minLength", "maxLength", "characters"));
        }
        limits
    }

    fn count(self, minimum: &str, maximum: &str, of: &str) -> Option<String> {
        match (self.0.get(minimum), self.0.get(maximum)) {
            (Some(minimum), Some(maximum)) => Some(format!("{minimum} to {maximum} {of}")),
            (Some(minimum), None) => Some(format!("{minimum} or more {of}")),
            (None, Some(maximum)) => Some(format!("at most {maximum} {of}")),
            (None, None) => None,
        }
    }

    fn text(self, keyword: &str) -> Option<&'a str> {
        self.0.get(keyword).and_then(Value::as_str)
    }
}

/// The first sentence of a description, on one line.
pub(crate) fn first_sentence(description: &str) -> String {
    let line = one_line(description);
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}

/// A description without the line ends that the source text happens to have.
pub(crate) fn one_line(description: &str) -> String {
    description.split_whitespace().collect::<Vec<_>>().join(" ")
}
