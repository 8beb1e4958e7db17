//! Where each field of a document was written.

use std::collections::BTreeMap;

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

    /// Says that the field at `path`, and all in it, now comes from `place`.
    pub(super) fn replace(&mut self, path: &FieldPath, place: &Place) {
        self.0.retain(|known, _| !known.is_within(path));
        for path in path.ancestors() {
            self.0.entry(path).or_insert_with(|| place.clone());
        }
    }

    /// The place of a field, or of the innermost field around it if it was not written.
    fn of(&self, path: &FieldPath) -> Place {
        path.ancestors()
            .find_map(|path| self.0.get(&path))
            .cloned()
            .unwrap_or_default()
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
