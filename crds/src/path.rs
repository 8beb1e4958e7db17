//! Where a field stands: `spec.target.urls[0]`, `spec.target.headers."x.team"`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// The path of a field from the root of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Segment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field of a mapping.
    Key(String),
    /// An entry of a list, counted from 0.
    Index(usize),
}

/// Why a text is no [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A name is missing: at the start, at the end or between two dots.
    #[error("has an empty name in it. Write names with single dots between them, like replay.speed")]
    EmptyName,
    /// A quote that does not end, or does not span the whole name.
    #[error("has a stray quote in it. Quote a whole name, like headers.\"x.team\"")]
    Quote,
    /// `[` without a number and `]`.
    #[error("has a bad index in it. Write entries of lists like urls[0]")]
    Index,
}

impl FieldPath {
    /// The root.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// `spec`.
    #[must_use]
    pub fn spec() -> Self {
        Self::root().key("spec")
    }

    /// The field `name` under this path.
    #[must_use]
    pub fn key(&self, name: impl Into<String>) -> Self {
        self.join(Segment::Key(name.into()))
    }

    /// The list entry `index` under this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.join(Segment::Index(index))
    }

    /// This path with one more step.
    #[must_use]
    pub fn join(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// All of this path, then all of `tail`.
    #[must_use]
    pub fn concat(&self, tail: &Self) -> Self {
        Self(self.0.iter().chain(&tail.0).cloned().collect())
    }

    /// The steps from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The last step, with the path that it is taken from. None for the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &Segment)> {
        let (last, parent) = self.0.split_last()?;
        Some((Self(parent.to_vec()), last))
    }

    /// This path and the paths of all that contain it, innermost first, ending with the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + '_ {
        (0..=self.0.len())
            .rev()
            .map(|length| Self(self.0[..length].to_vec()))
    }

    /// Whether this path is `other` or lies in it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// What stands at this path in `root`, if anything.
    #[must_use]
    pub fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(name) => value.get(name),
            Segment::Index(index) => value.get(index),
        })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(name) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    write_name(f, name)?;
                }
            }
        }
        Ok(())
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if !name.is_empty() && !name.contains(|c: char| SPECIAL.contains(&c) || c.is_control()) {
        return f.write_str(name);
    }
    f.write_str("\"")?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "{}", c.escape_default())?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

/// Characters that need quotes (or a backslash before them) in a name.
const SPECIAL: [char; 7] = ['.', '[', ']', '"', '\\', '=', ' '];

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let (path, rest) = Self::parse_prefix(text)?;
        // An equals sign ends the path in `path=value`, and belongs in quotes elsewhere.
        if rest.is_empty() {
            Ok(path)
        } else {
            Err(PathError::Quote)
        }
    }
}

impl FieldPath {
    /// Reads the path that a text starts with, up to the first `=` outside quotes, and returns what follows it.
    pub(crate) fn parse_prefix(text: &str) -> Result<(Self, &str), PathError> {
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = take_name(rest)?;
            segments.push(Segment::Key(name));
            rest = after;
            while let Some(after) = rest.strip_prefix('[') {
                let (digits, after) = after.split_once(']').ok_or(PathError::Index)?;
                segments.push(Segment::Index(digits.parse().map_err(|_| PathError::Index)?));
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() || rest.starts_with('=') => return Ok((Self(segments), rest)),
                None => return Err(PathError::Quote),
            }
        }
    }
}

/// Takes one name, quoted or bare, off the start of a text.
fn take_name(text: &str) -> Result<(String, &str), PathError> {
    let (body, quoted) = match text.strip_prefix('"') {
        Some(body) => (body, true),
        None => (text, false),
    };
    let mut name = String::new();
    let mut characters = body.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.push(characters.next().ok_or(PathError::Quote)?.1),
            '"' if quoted => return Ok((name, &body[at + 1..])),
            '"' => return Err(PathError::Quote),
            '.' | '[' | '=' if !quoted => return bare_name(name, &body[at..]),
            c => name.push(c),
        }
    }
    if quoted {
        Err(PathError::Quote)
    } else {
        bare_name(name, "")
    }
}

fn bare_name(name: String, rest: &str) -> Result<(String, &str), PathError> {
    if name.is_empty() {
        Err(PathError::EmptyName)
    } else {
        Ok((name, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_with_dots_are_quoted_or_escaped() {
        let expected = FieldPath::root().key("headers").key("x.team").index(2);
        for text in [r#"headers."x.team"[2]"#, r"headers.x\.team[2]"] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
        }
        assert_eq!(expected.to_string(), r#"headers."x.team"[2]"#);
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_reason() {
        for (text, expected) in [
            ("", PathError::EmptyName),
            (".a", PathError::EmptyName),
            ("a..b", PathError::EmptyName),
            ("a.", PathError::EmptyName),
            ("a[", PathError::Index),
            ("a[x]", PathError::Index),
            ("a[-1]", PathError::Index),
            ("a\"b\"", PathError::Quote),
            ("\"a", PathError::Quote),
            ("\"a\"b", PathError::Quote),
            ("a=b", PathError::Quote),
        ] {
            assert_eq!(text.parse::<FieldPath>(), Err(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(
            first in "[^\\p{C}]{1,8}",
            rest in proptest::collection::vec(
                prop_oneof![
                    "[^\\p{C}]{0,8}".prop_map(Segment::Key),
                    any::<usize>().prop_map(Segment::Index),
                ],
                0..5,
            ),
        ) {
            let path = FieldPath(std::iter::once(Segment::Key(first)).chain(rest).collect());
            prop_assert_eq!(path.to_string().parse::<FieldPath>(), Ok(path));
        }
    }
}
