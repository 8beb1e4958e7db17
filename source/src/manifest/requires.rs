//! What a trace requires of whoever replays it.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

/// The version of AIPerf whose trace formats Reprise reads. `requires.aiperf` is held against it.
pub const AIPERF_VERSION: &str = "0.13.0";

/// `requires.reprise` is held against this.
pub(super) const REPRISE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The member `requires` of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements {
    pub(super) aiperf: Option<Specifiers>,
    pub(super) reprise: Option<Specifiers>,
    /// By the names that the manifest gives them; not empty.
    pub(super) endpoint_types: Option<Vec<String>>,
    pub(super) max_context_tokens: Option<NonZeroU64>,
}

/// Versions, as [PEP 440](https://peps.python.org/pep-0440/#version-specifiers) writes them: `>=0.13,<1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Specifiers(VersionSpecifiers);

/// Not a list of version specifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotSpecifiers;

impl Specifiers {
    pub(super) fn allow_aiperf(&self) -> bool {
        self.allow(AIPERF_VERSION)
    }

    pub(super) fn allow_reprise(&self) -> bool {
        self.allow(REPRISE_VERSION)
    }

    fn allow(&self, version: &str) -> bool {
        Version::from_str(version).is_ok_and(|version| self.0.contains(&version))
    }
}

impl FromStr for Specifiers {
    type Err = NotSpecifiers;

    fn from_str(text: &str) -> Result<Self, NotSpecifiers> {
        text.parse().map(Self).map_err(|_| NotSpecifiers)
    }
}

impl fmt::Display for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What kind of requests an endpoint answers: what `target.api` takes, and what `requires.endpoint_types` lists in AIPerf's
/// words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// Chat completions.
    Chat,
    /// Completions of a prompt.
    Completions,
    /// `OpenAI`'s responses.
    Responses,
    /// Embeddings.
    Embeddings,
    /// Reranking of passages.
    Rerank,
    /// Recorded bodies as they are.
    Raw,
}

impl EndpointKind {
    const ALL: [Self; 6] = [
        Self::Chat,
        Self::Completions,
        Self::Responses,
        Self::Embeddings,
        Self::Rerank,
        Self::Raw,
    ];

    /// The name that `target.api` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
            Self::Raw => "raw",
        }
    }

    /// The kind that a name means, one of ours or of AIPerf's endpoint types. Case, and `-` for `_`, make no difference.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        match name.as_str() {
            "nim_embeddings" => Some(Self::Embeddings),
            "rankings" | "cohere_rankings" | "hf_tei_rankings" | "nim_rankings" => Some(Self::Rerank),
            _ => Self::ALL.into_iter().find(|kind| kind.name() == name),
        }
    }
}
