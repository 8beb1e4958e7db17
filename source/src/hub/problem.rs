//! What goes wrong with a repository of the hub.

use std::fmt;
use std::io;
use std::path::PathBuf;

use http::StatusCode;

use super::token::TokenOrigin;
use crate::reference::RepoKind;

/// What went wrong and how to fix it. Never holds a byte that the hub sent, nor a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubProblem {
    /// No such repository of that kind, or none that may be read.
    #[error("{0}")]
    RepositoryNotFound(MissingRepository),
    /// The repository is there, the revision is not.
    #[error(
        "its repository has no such revision. Check the branch, tag or commit after the @, and write %2F for a slash \
         in it."
    )]
    RevisionNotFound,
    /// The revision is there, the path is not.
    #[error(
        "its repository has neither a file nor a folder of that name in this revision. Check the path, upper and \
         lower case too."
    )]
    PathNotFound,
    /// A slash at the end of a file's path.
    #[error("it ends with a slash, but names a file. Leave out the slash.")]
    NotAFolder,
    /// More files than a listing holds.
    #[error("it holds more than {0} files. Name a folder or a file in it.")]
    TooManyFiles(usize),

    /// A gated repository, and nobody is logged in.
    #[error(
        "its publisher wants conditions to be accepted first. Accept them on the repository's page, and set HF_TOKEN \
         to a token of the same account."
    )]
    Gated,
    /// A gated repository, and the account is not on its list.
    #[error(
        "its publisher wants conditions to be accepted first, and the account of the token in {0} has no access. Accept \
         them on the repository's page with this account, or wait until its publisher agrees."
    )]
    NotYetGranted(TokenOrigin),
    /// The hub does not know the token.
    #[error(
        "the hub does not accept the token in {0}. Set HF_TOKEN to a valid one, or remove it: what is public needs \
         none."
    )]
    TokenRejected(TokenOrigin),
    /// The hub knows the token, which does not have the right.
    #[error(
        "the token in {0} may not read it. Give it the right to read this repository, or set HF_TOKEN to another."
    )]
    Forbidden(TokenOrigin),
    /// Refused to somebody without a token.
    #[error("the hub does not let everyone read it. Set HF_TOKEN to a token that may.")]
    LoginNeeded,
    /// Taken down by the hub.
    #[error("the hub has disabled its repository. Ask its publisher.")]
    Disabled,

    /// Nothing that a hub says.
    #[error(
        "what answered is not a Hugging Face hub, or gave an answer that Reprise does not understand. Check \
         HF_ENDPOINT and the proxy variables."
    )]
    Answer,
    /// The store that the hub redirects to.
    #[error("the storage behind the hub answered {}, not with the file. Try again later.", .0.as_u16())]
    Storage(StatusCode),
    /// The content is not that of the blob's name.
    #[error(
        "what arrived is not what the hub has on record. Try again; if it stays so, its publisher has to upload the \
         file again."
    )]
    Damaged,

    /// `HF_ENDPOINT`.
    #[error("HF_ENDPOINT is not an http:// or https:// URL. Correct it, or remove it to use the public hub.")]
    Endpoint,
    /// Characters that cannot be in a header.
    #[error("the token in {0} has characters that no token has. Copy it again.")]
    TokenCharacters(TokenOrigin),
    /// There is a token's file, which cannot be read.
    #[error("the token file {} cannot be read ({source}). Change its permissions, or set HF_TOKEN.", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No `HOME`, and nothing that stands in for it.
    #[error("there is no home folder for the Hugging Face cache. Set HF_HOME to a folder for it.")]
    NoHome,

    /// Offline, and not there.
    #[error(
        "it was not found in the Hugging Face cache, or not all of it, and Reprise is offline. Run once without \
         REPRISE_OFFLINE and HF_HUB_OFFLINE."
    )]
    NotCached,
    /// The cache's files.
    #[error(
        "{} in the Hugging Face cache cannot be used ({source}). Check its permissions and the disk, or set \
         HF_HUB_CACHE to another folder.", path.display()
    )]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A repository that is not there, and what may be the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRepository {
    pub(super) kind: RepoKind,
    /// The same reference with the kind that there is.
    pub(super) instead: Option<String>,
    pub(super) token: Option<TokenOrigin>,
}

impl fmt::Display for MissingRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RepoKind::Dataset => "dataset",
            RepoKind::Model => "model",
            RepoKind::Space => "space",
        };
        match (&self.instead, &self.token) {
            (Some(instead), _) => write!(
                f,
                "the hub has no {kind} of this name, but a repository of another kind. Write {instead} to use that."
            ),
            (None, Some(origin)) => write!(
                f,
                "the hub has no {kind} of this name, or none that the token in {origin} may read. Check owner and name, \
                 and the rights of the token."
            ),
            (None, None) => write!(
                f,
                "the hub has no {kind} of this name that everyone may read. Check owner and name; if it is private, set \
                 HF_TOKEN to a token that may read it."
            ),
        }
    }
}
