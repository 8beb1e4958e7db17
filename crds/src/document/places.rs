//! Where each field of a document was written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::problem::{Place, Problem};
use crate::path::FieldPath;

/// The place of each field that was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(BTreeMap<FieldPath, Place>);

impl Places {
    pub(super) fn of_lines(lines: BTreeMap<FieldPath, usize>) -> Self {
        Self(
            lines
                .into_iter()
                .map(|(path, line)| (path, Place::Line(line)))
                .collect(),
        )
    }

    /// Says that `value` was set at `path`, and that it and what was made on the way to it come from `place`.
    pub(super) fn replace(&mut self, path: &FieldPath, value: &Value, place: &Place) {
        self.0.retain(|known, _| !known.is_within(path));
        let made = path
            .ancestors()
            .filter(|path| path.segments().len() > FieldPath::spec().segments().len());
        for path in made {
            self.0.entry(path).or_insert_with(|| place.clone());
        }
        self.insert_within(path, value, place);
    }

    fn insert_within(&mut self, path: &FieldPath, value: &Value, place: &Place) {
        self.0.insert(path.clone(), place.clone());
        match value {
            Value::Array(entries) => {
                entries
                    .iter()
                    .enumerate()
                    .for_each(|(at, value)| self.insert_within(&path.index(at), value, place));
            }
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, value)| self.insert_within(&path.key(name.as_str()), value, place));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The place of a field. If it was not written, that is the line of what it belongs in; but no argument, which sets
    /// one thing, is to blame for another that is missing.
    fn of(&self, path: &FieldPath) -> Place {
        let around = || {
            path.ancestors()
                .filter_map(|path| self.0.get(&path))
                .find(|place| place.line().is_some())
        };
        self.0.get(path).or_else(around).cloned().unwrap_or_default()
    }

    /// Places a problem that has no place yet.
    pub(super) fn place(&self, problem: Problem) -> Problem {
        match problem.place {
            Place::Unknown => {
                let place = self.of(&problem.path);
                problem.at(place)
            }
            Place::Line(_) | Place::Argument { .. } => problem,
        }
    }
}
