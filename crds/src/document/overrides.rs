//! `--set path=value`: fields that a command line gives or changes.

use serde_json::{Map, Value};

use super::check::describe;
use super::places::Places;
use super::problem::{Place, Problem, Problems};
use super::tree::Tree;
use crate::path::{FieldPath, Segment};

/// Fields that are set after the document is read and before it is checked, in the order given.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    list: Vec<Override>,
}

#[derive(Clone, Debug)]
struct Override {
    path: FieldPath,
    shown: String,
    value: Tree,
}

impl Overrides {
    /// Reads the values of `--set`: each `path=value`, with a path from `spec` on (`replay.speed`, `target.urls[0]`,
    /// `target.headers."x.team"`; `spec.` may stand before it) and a YAML value (`2`, `"2"`, `[a, b]`, `{start: 0s}`).
    ///
    /// # Errors
    ///
    /// All that is wrong with the form of any of them. Whether there is such a field is seen when they are applied.
    pub fn parse<I>(assignments: I) -> Result<Self, Problems>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut overrides = Self::default();
        let mut problems = Vec::new();
        for (position, assignment) in assignments.into_iter().enumerate() {
            match parse_one(position, assignment.as_ref()) {
                Ok(parsed) => overrides.list.push(parsed),
                Err(problem) => problems.push(problem),
            }
        }
        match Problems::gather(problems) {
            Some(problems) => Err(problems),
            None => Ok(overrides),
        }
    }

    /// Adds a field that another argument stands for. `argument` is how problems name it: `--source`.
    pub fn push(&mut self, argument: impl Into<String>, path: FieldPath, value: impl Into<Value>) {
        let value = Tree {
            value: value.into(),
            ..Tree::default()
        };
        self.list.push(Override {
            path,
            shown: argument.into(),
            value,
        });
    }

    /// Sets the fields in `document`, keeps track of their places, and reports what could not be set.
    pub(super) fn apply(&self, document: &mut Value, places: &mut Places) -> Vec<Problem> {
        self.apply_within(&FieldPath::root(), document, places)
    }

    /// As [`Self::apply`], where only what is within `allowed` can be set.
    pub(super) fn apply_within(
        &self,
        allowed: &FieldPath,
        document: &mut Value,
        places: &mut Places,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (position, Override { path, shown, value }) in self.list.iter().enumerate() {
            let place = Place::Argument {
                position,
                shown: shown.clone(),
            };
            if !path.is_within(allowed) {
                let problem = Problem::new(path.clone(), format!("is not a field of {allowed}"));
                problems.push(problem.hint("Nothing else can be set here.").at(place));
                continue;
            }
            problems.extend(value.problems.iter().map(|problem| {
                let path = path.concat(&problem.path);
                Problem {
                    path,
                    ..problem.clone()
                }
                .at(place.clone())
            }));
            match put(document, path, value.value.clone()) {
                Ok(()) => places.replace(path, &value.value, &place),
                Err(problem) => problems.push(problem.at(place)),
            }
        }
        problems
    }
}

/// `position` counts the assignments.
fn parse_one(position: usize, assignment: &str) -> Result<Override, Problem> {
    let place = |shown: &str| Place::Argument {
        position,
        shown: shown.to_owned(),
    };
    let written = written_path(assignment);
    let (path, rest) = FieldPath::parse_prefix(assignment)
        .map_err(|error| Problem::new(FieldPath::root(), format!("the path {error}")).at(place(&written)))?;
    let path = from_spec(path);
    let Some(text) = rest.strip_prefix('=') else {
        return Err(Problem::new(path, "has no value")
            .hint("Write path=value.")
            .at(place(&written)));
    };
    let shown = if may_be_secret(&path, text) {
        format!("{written}=…")
    } else {
        format!("{written}={text}")
    };
    let value = Tree::read_value(text).map_err(|problem| {
        Problem {
            path: path.clone(),
            ..problem
        }
        .at(place(&shown))
    })?;
    Ok(Override { path, shown, value })
}

/// `--set` with the path, as far as it can be told from the value; with all of it where there is no path.
fn written_path(assignment: &str) -> String {
    let path = match FieldPath::parse_prefix(assignment) {
        Ok((_, rest)) => &assignment[..assignment.len() - rest.len()],
        Err(_) => assignment.split('=').next().unwrap_or_default(),
    };
    match (path, assignment) {
        ("", "") => "--set \"\"".to_owned(),
        ("", whole) => format!("--set {whole}"),
        (path, _) => format!("--set {path}"),
    }
}

fn from_spec(path: FieldPath) -> FieldPath {
    if path.is_within(&FieldPath::spec()) {
        path
    } else {
        FieldPath::spec().concat(&path)
    }
}

/// Whether a value is better not repeated in messages.
fn may_be_secret(path: &FieldPath, value: &str) -> bool {
    let headers = FieldPath::spec().key("target").key("headers");
    let may_hold_headers = path.is_within(&headers) || headers.is_within(path);
    may_hold_headers || (value.contains("://") && value.contains(['@', '?']))
}

/// Sets the field at `path`, making the mappings and lists on the way.
pub(super) fn put(root: &mut Value, path: &FieldPath, value: Value) -> Result<(), Problem> {
    let mut here = root;
    let mut walked = FieldPath::root();
    for segment in path.segments() {
        here = match segment {
            Segment::Key(name) => field(here, name, &walked)?,
            Segment::Index(index) => entry(here, *index, &walked)?,
        };
        walked = walked.join(segment.clone());
    }
    *here = value;
    Ok(())
}

fn field<'a>(value: &'a mut Value, name: &str, path: &FieldPath) -> Result<&'a mut Value, Problem> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(mapping) => Ok(mapping.entry(name).or_insert(Value::Null)),
        other => Err(Problem::new(
            path.clone(),
            format!("is {} and has no field \"{name}\"", describe(other)),
        )),
    }
}

fn entry<'a>(value: &'a mut Value, index: usize, path: &FieldPath) -> Result<&'a mut Value, Problem> {
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    let list = match value {
        Value::Array(list) => list,
        other => {
            return Err(Problem::new(
                path.clone(),
                format!("is {} and has no entries", describe(other)),
            ));
        }
    };
    let length = list.len();
    if index == length {
        list.push(Value::Null);
    }
    list.get_mut(index).ok_or_else(|| {
        let hint = format!("Entries count from 0; the next one is [{length}].");
        Problem::new(path.index(index), "is beyond the end of the list").hint(hint)
    })
}
