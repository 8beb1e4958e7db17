//! `ReplayJob` documents as people write them: YAML and `--set`, read into a checked [`ReplayJob`] or into everything
//! that is wrong with them at once, each problem with its field and its line.

mod check;
mod dataset;
mod overrides;
mod places;
mod problem;
mod salvage;
mod tree;

pub(crate) use check::unknown_field_hint;
pub use dataset::dataset;
pub use overrides::Overrides;
pub use problem::{Place, Problem, Problems};

use kube::Resource;
use serde_json::{Map, Value, json};

use crate::path::FieldPath;
use crate::spec::{ReplayJob, ReplayJobSpec};
use places::Places;
use tree::Tree;

/// The name of a job that was put together on a command line.
const BLANK_NAME: &str = "replay";

/// A `ReplayJob` that was read and found right.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The job. Its spec passed the schema and [`validate`](crate::validate()).
    pub job: ReplayJob,
}

impl Document {
    /// The spec.
    #[must_use]
    pub const fn spec(&self) -> &ReplayJobSpec {
        &self.job.spec
    }

    /// The name, or what the API server would start it with.
    #[must_use]
    pub fn name(&self) -> &str {
        let metadata = &self.job.metadata;
        let generated = || {
            metadata
                .generate_name
                .as_deref()
                .map(|prefix| prefix.trim_end_matches('-'))
        };
        metadata.name.as_deref().or_else(generated).unwrap_or(BLANK_NAME)
    }

    /// A job made of `overrides` alone, for those who have no YAML.
    ///
    /// # Errors
    ///
    /// Everything that is wrong or missing.
    pub fn blank(overrides: &Overrides) -> Result<Self, Problems> {
        build(blank(), overrides)
    }
}

/// A job with nothing in its spec.
fn blank() -> Tree {
    let value = json!({
        "apiVersion": ReplayJob::api_version(&()),
        "kind": ReplayJob::kind(&()),
        "metadata": { "name": BLANK_NAME },
        "spec": {},
    });
    Tree {
        value,
        ..Tree::default()
    }
}

/// Reads the one `ReplayJob` in a YAML text, with `overrides` set on it.
///
/// # Errors
///
/// Everything that is wrong, with its place. [`Problems::in_file`] gives lines the name of their file.
pub fn read(text: &str, overrides: &Overrides) -> Result<Document, Problems> {
    let documents = Tree::read_all(text).map_err(Problems::one)?;
    build(only(documents)?, overrides)
}

fn only(documents: Vec<Tree>) -> Result<Tree, Problems> {
    let count = documents.len();
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (None, _) => Err(Problems::one(Problem::new(
            FieldPath::root(),
            "has no document in it: one ReplayJob is expected",
        ))),
        (Some(document), None) => Ok(document),
        (Some(_), Some(second)) => {
            let line = second.lines.get(&FieldPath::root()).copied().unwrap_or(1);
            let problem = Problem::new(
                FieldPath::root(),
                format!("has {count} documents in it: one ReplayJob is expected"),
            )
            .hint("Put each in a file of its own.");
            Err(Problems::one(problem.at(Place::Line(line))))
        }
    }
}

fn build(tree: Tree, overrides: &Overrides) -> Result<Document, Problems> {
    let Tree {
        mut value,
        lines,
        mut problems,
    } = tree;
    let mut places = Places::of_lines(lines);
    problems.extend(overrides.apply(&mut value, &mut places));
    if is_of_another_kind(&value) {
        problems.extend(of_the_kind_only(check::check(&value)));
    } else {
        problems.extend(check::check(&value));
        problems.extend(name_problem(&value));
        problems.extend(salvage::rule_problems(value.clone(), &problems));
    }
    if let Some(problems) = Problems::gather(
        problems
            .into_iter()
            .map(|problem| places.place(problem))
            .collect(),
    ) {
        return Err(problems);
    }
    serde_json::from_value(value)
        .map(|job| Document { job })
        .map_err(|error| Problems::one(Problem::new(FieldPath::root(), error.to_string())))
}

fn is_of_another_kind(document: &Value) -> bool {
    document
        .get("kind")
        .is_some_and(|kind| *kind != *ReplayJob::kind(&()))
}

/// Nobody wants to hear which fields of a Deployment a `ReplayJob` does not have.
fn of_the_kind_only(problems: Vec<Problem>) -> Vec<Problem> {
    let kind = FieldPath::root().key("kind");
    problems
        .into_iter()
        .filter(|problem| problem.path == kind)
        .collect()
}

/// A name must be given, and be one that the API server takes.
fn name_problem(document: &Value) -> Option<Problem> {
    let metadata = document.get("metadata").and_then(Value::as_object)?;
    let path = FieldPath::root().key("metadata").key("name");
    match (metadata.get("name"), has_generated_name(metadata)) {
        (None, false) => Some(Problem::new(path, "is required")),
        (Some(Value::String(name)), _) if !is_dns_subdomain(name) => {
            Some(Problem::new(path, "is not a name that Kubernetes takes").hint(
                "Use at most 253 small letters, digits, - and ., with a letter or digit first and last.",
            ))
        }
        _ => None,
    }
}

fn has_generated_name(metadata: &Map<String, Value>) -> bool {
    metadata.get("generateName").is_some()
}

/// RFC 1123, as the API server checks the names of custom resources.
fn is_dns_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}
