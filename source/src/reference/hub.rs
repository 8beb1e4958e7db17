//! `hf://[datasets|models|spaces/]<owner>/<repository>[@<revision>][/<path>]`

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a revision may keep of its characters inside a reference: it must stay one segment.
const IN_REVISION: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The hub's limit for `<owner>/<repository>`.
const MAX_NAME: usize = 96;

/// What kind of repository. The same name may exist as each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RepoKind {
    Dataset,
    Model,
    Space,
}

impl RepoKind {
    const ALL: [Self; 3] = [Self::Dataset, Self::Model, Self::Space];

    /// As it stands in a reference, and in the hub's own paths.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Dataset => "datasets",
            Self::Model => "models",
            Self::Space => "spaces",
        }
    }

    pub(super) fn from_plural(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.plural() == text)
    }

    fn from_singular(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.plural().strip_suffix('s') == Some(text))
    }
}

/// Something in a repository of the Hugging Face hub. `Display` is its canonical form, with the kind spelled out.
///
/// The path is literal: `%20` in it is three characters. Only the revision is percent-encoded, since it may have slashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HubPath {
    kind: RepoKind,
    owner: String,
    name: String,
    /// Decoded: a branch, a tag or a commit.
    revision: Option<String>,
    /// Without a slash at either end; empty for the repository's root.
    path: String,
    /// Whether the reference ends with a slash, and so names a folder. The root needs none.
    is_folder: bool,
}

/// Why a text is not the path of something on the hub. Its text follows `Cannot use <reference>: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubPathError {
    /// The owner or the repository is missing.
    #[error("it names no repository. Write hf://<owner>/<repository>, with both of them.")]
    NoRepository,
    /// A name that the hub gives nobody.
    #[error(
        "the hub has no such name. Owner and repository have letters, digits, -, _ and . only, neither at their ends \
         nor twice in a row - or ., no .git at the end, and 96 characters together. Check the spelling."
    )]
    Name,
    /// A form that can be written right.
    #[error("{what}. Write {instead}.")]
    Form {
        /// What is wrong with it.
        what: &'static str,
        /// What to write.
        instead: String,
    },
    /// `@` with nothing after it.
    #[error("no revision follows the @. Write a branch, a tag or a commit after it, or leave the @ out.")]
    NoRevision,
    /// A revision that git does not allow.
    #[error(
        "what follows the @ is no branch, tag or commit. Check the spelling; the slashes in it are written as %2F."
    )]
    Revision,
    /// A path that no file of a repository has.
    #[error(
        "its path has an empty, . or .. part, a backslash or a control character. Write the path as the hub shows it, \
         with single slashes."
    )]
    Path,
    /// `?name=value`
    #[error(
        "hf:// takes no parameters. Leave out what follows the ?, and write a revision as @<revision> after the \
         repository's name."
    )]
    Parameters,
}

impl HubPath {
    /// Parses what follows `hf://`. `implied` is the kind when the reference does not spell one out.
    pub(crate) fn parse(text: &str, implied: RepoKind) -> Result<Self, HubPathError> {
        refuse_hosts(text)?;
        let (spelled, rest) = match text.split_once('/') {
            Some((first, rest)) => match RepoKind::from_plural(first) {
                Some(kind) => (Some(kind), rest),
                None => (None, text),
            },
            None => (None, text),
        };
        let mut parts = rest.splitn(3, '/');
        let owner = parts.next().unwrap_or_default();
        let repository = parts.next().unwrap_or_default();
        let path = parts.next().unwrap_or_default();
        if owner.is_empty() || repository.is_empty() {
            return Err(HubPathError::NoRepository);
        }
        if spelled.is_none() {
            refuse_singular_kind(owner, repository, path)?;
        }
        let (name, revision) = match repository.split_once('@') {
            Some((name, revision)) => (name, Some(parse_revision(revision)?)),
            None => (repository, None),
        };
        if !is_name(owner) || !is_name(name) || owner.len() + 1 + name.len() > MAX_NAME {
            return Err(HubPathError::Name);
        }
        let hub_path = Self {
            kind: spelled.unwrap_or(implied),
            owner: owner.to_owned(),
            name: name.to_owned(),
            revision,
            path: path.strip_suffix('/').unwrap_or(path).to_owned(),
            is_folder: path.ends_with('/'),
        };
        hub_path.refuse_misplaced_revision()?;
        check_path(path)?;
        Ok(hub_path)
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

    /// The revision, if it is a whole commit and so never moves.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.revision().filter(|revision| is_commit(revision))
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

    /// What lies at `path` below it, in the same revision.
    pub(crate) fn below(&self, path: &str) -> Self {
        let slash = if self.path.is_empty() || path.is_empty() {
            ""
        } else {
            "/"
        };
        Self {
            path: format!("{}{slash}{path}", self.path),
            is_folder: false,
            ..self.clone()
        }
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

    /// Revisions in places where they are taken for a path. Their texts are what people paste.
    fn refuse_misplaced_revision(&self) -> Result<(), HubPathError> {
        let wrong = |what, revision: &str, path: &str| {
            let mut instead = self.at(revision, path);
            instead.is_folder = self.is_folder && !path.is_empty();
            Err(HubPathError::Form {
                what,
                instead: instead.to_string(),
            })
        };
        let segments: Vec<_> = self.path.splitn(3, '/').collect();
        match (self.revision(), segments.as_slice()) {
            (Some("refs"), [space @ ("convert" | "heads" | "pr" | "tags"), name, rest @ ..]) => wrong(
                "the slashes of a revision must be written as %2F",
                &format!("refs/{space}/{name}"),
                &rest.concat(),
            ),
            (None, ["blob" | "resolve" | "tree" | "raw", revision, rest @ ..])
                if *revision == "main" || is_commit(revision) =>
            {
                wrong(
                    "that is how the hub's pages are called, not what lies in the repository",
                    revision,
                    &rest.concat(),
                )
            }
            (None, _) => match self.path.rsplit_once('@') {
                Some((path, revision)) if revision == "main" || is_commit(revision) => wrong(
                    "the revision must follow the repository's name",
                    revision,
                    path.trim_end_matches('/'),
                ),
                _ => Ok(()),
            },
            _ => Ok(()),
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

/// `hf:///owner/…` and `hf://huggingface.co/…`.
fn refuse_hosts(text: &str) -> Result<(), HubPathError> {
    let rest = text.trim_start_matches('/');
    let (what, rest) = match rest.split_once('/') {
        Some((host, rest)) if is_hub_host(host) => ("hf:// takes no host", rest),
        _ if rest.len() < text.len() => ("only two slashes follow hf:", rest),
        _ => return Ok(()),
    };
    Err(HubPathError::Form {
        what,
        instead: format!("hf://{}", rest.trim_start_matches('/')),
    })
}

pub(super) fn is_hub_host(host: &str) -> bool {
    ["huggingface.co", "www.huggingface.co", "hf.co"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(host))
}

/// `hf://dataset/owner/…`. An owner of that name can still be named, with the kind before it.
fn refuse_singular_kind(owner: &str, repository: &str, path: &str) -> Result<(), HubPathError> {
    match RepoKind::from_singular(owner) {
        Some(kind) if !path.is_empty() => Err(HubPathError::Form {
            what: "the kind of a repository is written in the plural",
            instead: format!("hf://{}/{repository}/{path}", kind.plural()),
        }),
        _ => Ok(()),
    }
}

/// Decodes a revision and holds it to git's rules for names, so that it can lead nowhere else.
fn parse_revision(text: &str) -> Result<String, HubPathError> {
    if text.is_empty() {
        return Err(HubPathError::NoRevision);
    }
    let revision = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| HubPathError::Revision)?;
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none();
    let is_refused = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let is_revision = revision.split('/').all(is_part)
        && !revision.contains(is_refused)
        && !["..", "@{"].iter().any(|sequence| revision.contains(sequence))
        && !revision.ends_with('.')
        && revision != "@";
    if !is_revision {
        return Err(HubPathError::Revision);
    }
    Ok(if is_commit(&revision) {
        revision.to_ascii_lowercase()
    } else {
        revision.into_owned()
    })
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The rule of the hub and of its official client, for an owner's or a repository's name.
fn is_name(text: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| !matches!(c, '-' | '.'));
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && is_end(text.chars().next())
        && is_end(text.chars().last())
        && !["--", ".."].iter().any(|sequence| text.contains(sequence))
        && text.strip_suffix(".git").is_none()
}

/// `path` is what follows the repository's name and a slash.
fn check_path(path: &str) -> Result<(), HubPathError> {
    if path.is_empty() {
        return Ok(());
    }
    if super::has_parameters(path) {
        return Err(HubPathError::Parameters);
    }
    if is_plain_path(path.strip_suffix('/').unwrap_or(path)) {
        Ok(())
    } else {
        Err(HubPathError::Path)
    }
}

/// Whether a path leads from a folder to something in it, whatever the disk: no empty, `.` or `..` segments, no
/// backslashes, no control characters.
pub(crate) fn is_plain_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        !matches!(segment, "" | "." | "..") && !segment.contains(|c: char| c.is_control() || c == '\\')
    })
}
