//! `hf://[datasets|models|spaces/]<owner>/<repository>[@<revision>][/<path>]`

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a revision may keep of its characters inside a reference: it must stay one segment.
const IN_REVISION: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// What kind of repository. The same name may exist as each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RepoKind {
    Dataset,
    Model,
    Space,
}

impl RepoKind {
    /// As it stands in a reference, and in the hub's own paths.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Dataset => "datasets",
            Self::Model => "models",
            Self::Space => "spaces",
        }
    }

    fn from_plural(text: &str) -> Option<Self> {
        [Self::Dataset, Self::Model, Self::Space]
            .into_iter()
            .find(|kind| kind.plural() == text)
    }
}

/// Something in a repository of the Hugging Face hub. `Display` is its canonical form, with the kind spelled out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HubPath {
    kind: RepoKind,
    owner: String,
    name: String,
    /// Decoded: a branch, a tag or a commit.
    revision: Option<String>,
    /// Without a slash at either end; empty for the repository's root.
    path: String,
    /// Whether the reference ends with a slash, and so names a folder.
    is_folder: bool,
}

/// Why a text is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HubPathError {
    /// Owner or repository are missing, or have characters that none has.
    Repository,
    /// `@` without a revision, or one that is not UTF-8 once decoded.
    Revision,
    /// Empty, `.` or `..` segments, or control characters.
    Path,
}

impl HubPath {
    /// Parses what follows `hf://`. `implied` is the kind when the reference does not spell one out.
    pub(crate) fn parse(text: &str, implied: RepoKind) -> Result<Self, HubPathError> {
        let (kind, rest) = match text.split_once('/') {
            Some((first, rest)) if RepoKind::from_plural(first).is_some() => {
                (RepoKind::from_plural(first).unwrap_or(implied), rest)
            }
            _ => (implied, text),
        };
        let mut parts = rest.splitn(3, '/');
        let owner = parts.next().unwrap_or_default();
        let repository = parts.next().ok_or(HubPathError::Repository)?;
        let path = parts.next().unwrap_or_default();
        let (name, revision) = match repository.split_once('@') {
            Some((name, revision)) => (name, Some(decode(revision)?)),
            None => (repository, None),
        };
        if !is_name(owner) || !is_name(name) {
            return Err(HubPathError::Repository);
        }
        let is_folder = path.ends_with('/');
        let path = path.strip_suffix('/').unwrap_or(path);
        if !path.is_empty() && !is_plain_path(path) {
            return Err(HubPathError::Path);
        }
        Ok(Self {
            kind,
            owner: owner.to_owned(),
            name: name.to_owned(),
            revision,
            path: path.to_owned(),
            is_folder,
        })
    }

    pub(crate) fn kind(&self) -> RepoKind {
        self.kind
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Decoded: a branch, a tag or a commit.
    pub(crate) fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The path in the repository, without a slash at either end; empty for its root.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it can only be a folder: it ends with a slash, or is the root.
    pub(crate) fn is_folder(&self) -> bool {
        self.is_folder || self.path.is_empty()
    }

    /// The same place in a repository of another kind.
    pub(crate) fn as_kind(&self, kind: RepoKind) -> Self {
        Self { kind, ..self.clone() }
    }

    /// The same place in another revision and with another path.
    pub(crate) fn at(&self, revision: &str, path: &str) -> Self {
        Self {
            revision: Some(revision.to_owned()),
            path: path.to_owned(),
            is_folder: false,
            ..self.clone()
        }
    }
}

impl fmt::Display for HubPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://{}/{}/{}", self.kind.plural(), self.owner, self.name)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{}", utf8_percent_encode(revision, IN_REVISION))?;
        }
        if !self.path.is_empty() {
            write!(f, "/{}", self.path)?;
        }
        if self.is_folder {
            f.write_str("/")?;
        }
        Ok(())
    }
}

fn decode(revision: &str) -> Result<String, HubPathError> {
    let decoded = percent_decode_str(revision)
        .decode_utf8()
        .map_err(|_| HubPathError::Revision)?;
    if decoded.is_empty() || decoded.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(HubPathError::Revision);
    }
    Ok(decoded.into_owned())
}

/// Whether a path leads from a folder to something in it, whatever the disk: no empty, `.` or `..` segments, no control
/// characters.
pub(crate) fn is_plain_path(path: &str) -> bool {
    path.split('/')
        .all(|segment| !matches!(segment, "" | "." | "..") && !segment.chars().any(char::is_control))
}

/// The hub's own rule for names: letters, digits, `-`, `_` and `.`.
fn is_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}
