//! What is wrong with a document, told to the person who wrote it.

use std::fmt;

use crate::path::FieldPath;

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field that it is about. The root if it is about the document as a whole.
    pub path: FieldPath,
    /// Where that was written.
    pub place: Place,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to do about it: a sentence, if there is more to say than the message does.
    pub hint: Option<String>,
}

/// Where something was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On this line of the file, counted from 1.
    Line(usize),
    /// In a command-line argument.
    Argument {
        /// How many arguments came before it.
        position: usize,
        /// The argument as it is shown to people.
        shown: String,
    },
    /// Nowhere: something is missing, or the spec did not come from a document.
    #[default]
    Unknown,
}

impl Place {
    /// The line of the file, counted from 1.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::Line(line) => Some(*line),
            Self::Argument { .. } | Self::Unknown => None,
        }
    }
}

impl Problem {
    /// A problem of the field at `path`, not yet placed.
    pub fn new(path: FieldPath, message: impl Into<String>) -> Self {
        Self {
            path,
            place: Place::Unknown,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The line of the file, counted from 1.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        self.place.line()
    }
}

/// Without the place: `spec.replay.spede: unknown field. Did you mean "speed"?`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path != FieldPath::root() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a document, in the order in which it stands there. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    file: Option<String>,
    list: Vec<Problem>,
}

impl Problems {
    /// Sorts problems by their place. None if there are none.
    pub(crate) fn gather(mut list: Vec<Problem>) -> Option<Self> {
        list.sort_by(|a, b| (&a.place, &a.path).cmp(&(&b.place, &b.path)));
        // What is written once is reported once, with what was noticed first.
        list.dedup_by(|later, first| later.path == first.path && later.place == first.place);
        (!list.is_empty()).then_some(Self { file: None, list })
    }

    pub(crate) fn one(problem: Problem) -> Self {
        Self {
            file: None,
            list: vec![problem],
        }
    }

    /// The same with the name that lines are reported under.
    #[must_use]
    pub fn in_file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// The problems, sorted by place.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One line a problem: `job.yaml:7: spec.replay.spede: unknown field. Did you mean "speed"?`
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.list.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            match (&problem.place, &self.file) {
                (Place::Line(line), Some(file)) => write!(f, "{file}:{line}: {problem}")?,
                (Place::Line(line), None) => write!(f, "line {line}: {problem}")?,
                (Place::Argument { shown, .. }, _) => write!(f, "{shown}: {problem}")?,
                (Place::Unknown, Some(file)) => write!(f, "{file}: {problem}")?,
                (Place::Unknown, None) => write!(f, "{problem}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
