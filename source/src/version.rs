//! Pins: which version of a file or folder is meant.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use reprise_contract::Digest;

/// The exact version of what a reference names.
///
/// Its text is what `dataset.version` takes and what results show: a commit as it is, everything else with its kind in
/// front (`versionId:…`, `etag:…`, `lastModified:…`, `listing:…`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A commit of a Hugging Face repository: 40 hexadecimal digits, in lower case.
    Commit(String),
    /// The version of an S3 object in a bucket that keeps versions.
    VersionId(String),
    /// The entity tag of an S3 object or of an HTTP answer, quotes and a leading `W/` included.
    ETag(String),
    /// An HTTP answer without an entity tag.
    LastModified {
        /// When it changed last, to the second.
        time: Timestamp,
        /// Its length in bytes.
        length: u64,
    },
    /// The files below an S3 prefix: the digest of a text with a line for each, `<key> <etag>`, in the order of keys.
    Listing(Digest),
}

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot use the version {text:?}: it is neither a commit of 40 hexadecimal digits nor a text that starts with \
     versionId:, etag:, lastModified: or listing:. Copy it from the results, or from `reprise pin <reference>`."
)]
pub struct VersionError {
    text: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(commit) => f.write_str(commit),
            Self::VersionId(id) => write!(f, "versionId:{id}"),
            Self::ETag(tag) => write!(f, "etag:{tag}"),
            Self::LastModified { time, length } => write!(f, "lastModified:{time};length={length}"),
            Self::Listing(digest) => write!(f, "listing:{digest}"),
        }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let of_kind = || match text.split_once(':')? {
            ("versionId", id) => (!id.is_empty()).then(|| Self::VersionId(id.to_owned())),
            ("etag", tag) => (!tag.is_empty()).then(|| Self::ETag(tag.to_owned())),
            ("lastModified", rest) => {
                let (time, length) = rest.split_once(";length=")?;
                Some(Self::LastModified {
                    time: time.parse().ok()?,
                    length: length.parse().ok()?,
                })
            }
            ("listing", digest) => digest.parse().ok().map(Self::Listing),
            _ => None,
        };
        let is_commit = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_commit {
            return Ok(Self::Commit(text.to_ascii_lowercase()));
        }
        of_kind().ok_or_else(|| VersionError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_back() {
        for version in [
            Version::Commit("3e1f0c".repeat(7)[..40].to_owned()),
            Version::VersionId("3HL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY".to_owned()),
            Version::ETag("W/\"a:b;c\"".to_owned()),
            Version::LastModified {
                time: "2026-08-01T12:00:00Z".parse().unwrap(),
                length: 7,
            },
            Version::Listing(Digest::from_bytes([7; 32])),
        ] {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "main",
            "3e1f",
            "etag:",
            "versionId:",
            "listing:1",
            "lastModified:2026-08-01",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
