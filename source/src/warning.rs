//! What whoever runs a trace should know of its source.

use std::fmt;

use crate::layout::LayoutWarning;
use crate::manifest::ManifestWarning;

/// Something about a source that does not keep it from being used. Prints as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceWarning {
    /// About a manifest or sidecar.
    Manifest(ManifestWarning),
    /// About the files of a folder.
    Layout(LayoutWarning),
    /// The server tells no version.
    Unversioned,
    /// The network was not to be used, and the reference names no version.
    NewestKept,
}

impl SourceWarning {
    /// A name for programs. It does not change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Manifest(ManifestWarning::UnknownKey { .. } | ManifestWarning::MoreUnknownKeys { .. }) => {
                "ManifestKeyUnknown"
            }
            Self::Manifest(ManifestWarning::MaxContextTokens { .. }) => "ContextTooLong",
            Self::Layout(warning) => warning.code(),
            Self::Unversioned => "SourceUnversioned",
            Self::NewestKept => "SourceNotAsked",
        }
    }
}

impl fmt::Display for SourceWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(warning) => f.write_str(&as_sentence(&warning.to_string())),
            Self::Layout(warning) => warning.fmt(f),
            Self::Unversioned => f.write_str(
                "The server sends neither ETag nor Last-Modified, so no version is on record, and each run downloads \
                 the trace again.",
            ),
            Self::NewestKept => f.write_str(
                "Offline: the newest version in the cache is used, and the source may have a newer one. Name a version to \
                 choose one.",
            ),
        }
    }
}

/// What says something of a trace as a part of a sentence, on its own.
fn as_sentence(part: &str) -> String {
    let mut characters = part.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}
