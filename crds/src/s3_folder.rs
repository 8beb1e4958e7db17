//! A folder in a bucket, as `results.s3.url` names it: `s3://<bucket>/<prefix>/`.

use std::fmt;
use std::str::FromStr;

/// A bucket, and a prefix in it that objects are put below.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct S3Folder {
    bucket: String,
    /// Empty, or with a slash at its end and none at its start.
    prefix: String,
}

/// Why a text names no folder in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum S3FolderError {
    /// Another scheme, or none.
    #[error("is not in S3")]
    Scheme,
    /// A name that no bucket has.
    #[error("does not name a bucket")]
    Bucket,
    /// What would be a version, a query or a fragment elsewhere.
    #[error("has a ? or # in it, which a folder for results has not")]
    Parameters,
    /// A key that would lead elsewhere as a path, or that nobody can type.
    #[error("has an empty part, a . or .. part, or a control character in its path")]
    Path,
}

impl S3FolderError {
    /// What to do about it.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Scheme => "Write it like s3://bucket/folder/.",
            Self::Bucket => {
                "A bucket has 3 to 63 lower-case letters, digits, hyphens and dots in its name. Write it like \
                 s3://bucket/folder/."
            }
            Self::Parameters => "Leave out what begins with it.",
            Self::Path => "Put single slashes between the names of folders.",
        }
    }
}

impl S3Folder {
    /// The bucket.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of what lies at `path` below it.
    #[must_use]
    pub fn key(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The folder `name` in it.
    #[must_use]
    pub fn within(&self, name: &str) -> Self {
        Self {
            bucket: self.bucket.clone(),
            prefix: format!("{}{name}/", self.prefix),
        }
    }
}

impl FromStr for S3Folder {
    type Err = S3FolderError;

    fn from_str(text: &str) -> Result<Self, S3FolderError> {
        let path = text.strip_prefix("s3://").ok_or(S3FolderError::Scheme)?;
        if path.contains(['?', '#']) {
            return Err(S3FolderError::Parameters);
        }
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if !is_bucket(bucket) {
            return Err(S3FolderError::Bucket);
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_wrong = |part: &str| matches!(part, "" | "." | "..") || part.contains(char::is_control);
        if !prefix.is_empty() && prefix.split('/').any(is_wrong) {
            return Err(S3FolderError::Path);
        }
        let root = Self {
            bucket: bucket.to_owned(),
            prefix: String::new(),
        };
        Ok(if prefix.is_empty() {
            root
        } else {
            root.within(prefix)
        })
    }
}

impl fmt::Display for S3Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

/// Amazon's rule for the names of general-purpose buckets.
fn is_bucket(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
        && is_end(bytes.first())
        && is_end(bytes.last())
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, S3FolderError> {
        text.parse().map(|folder: S3Folder| folder.to_string())
    }

    #[test]
    fn a_folder_is_one_with_and_without_its_slash() {
        for (text, expected) in [
            ("s3://perf-results", "s3://perf-results/"),
            ("s3://perf-results/", "s3://perf-results/"),
            ("s3://perf-results/chat", "s3://perf-results/chat/"),
            ("s3://perf-results/chat/august/", "s3://perf-results/chat/august/"),
            ("s3://perf.results/a b%20ü", "s3://perf.results/a b%20ü/"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_names_no_folder_is_told_apart() {
        for (text, expected) in [
            ("", S3FolderError::Scheme),
            ("results/", S3FolderError::Scheme),
            ("https://bucket.s3.amazonaws.com/x", S3FolderError::Scheme),
            ("s3://", S3FolderError::Bucket),
            ("s3:///x", S3FolderError::Bucket),
            ("s3://ab/x", S3FolderError::Bucket),
            ("s3://Perf/x", S3FolderError::Bucket),
            ("s3://me:secret@bucket/x", S3FolderError::Bucket),
            ("s3://a..b/x", S3FolderError::Bucket),
            ("s3://bucket/x?versionId=1", S3FolderError::Parameters),
            ("s3://bucket/x#y", S3FolderError::Parameters),
            ("s3://bucket//x", S3FolderError::Path),
            ("s3://bucket/x//", S3FolderError::Path),
            ("s3://bucket/../x", S3FolderError::Path),
            ("s3://bucket/x\ny", S3FolderError::Path),
        ] {
            assert_eq!(parsed(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn keys_lie_below_the_folder() {
        let root: S3Folder = "s3://bucket".parse().unwrap();
        assert_eq!(root.key("summary.json"), "summary.json");
        let folder = root.within("chat").within("1");
        assert_eq!(folder.key("summary.json"), "chat/1/summary.json");
        assert_eq!(folder.to_string(), "s3://bucket/chat/1/");
    }
}
