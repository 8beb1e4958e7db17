//! `s3://<bucket>/<key>[?versionId=<id>]` and `s3://<bucket>/<prefix>/`

use std::fmt;

/// An object, or all objects below a prefix. Keys are written as they are, without any encoding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct S3Path {
    bucket: String,
    /// Without a leading slash; empty, or with a slash at its end, for a prefix.
    key: String,
    version_id: Option<String>,
}

/// Why a text is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum S3PathError {
    /// Not a bucket's name.
    Bucket,
    /// A query other than `versionId`, or an empty one.
    Query,
    /// `versionId` of a prefix, which has none.
    VersionOfPrefix,
    /// Control characters in the key.
    Key,
}

impl S3Path {
    /// Parses what follows `s3://`.
    pub(crate) fn parse(text: &str) -> Result<Self, S3PathError> {
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        let is_bucket = (3..=63).contains(&bucket.len())
            && bucket.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
            });
        if !is_bucket {
            return Err(S3PathError::Bucket);
        }
        if key.chars().any(char::is_control) {
            return Err(S3PathError::Key);
        }
        let version_id = match query.map(|query| query.strip_prefix("versionId=")) {
            None => None,
            Some(Some(id)) if !id.is_empty() && !id.contains('&') => Some(id.to_owned()),
            Some(_) => return Err(S3PathError::Query),
        };
        let path = Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            version_id,
        };
        if path.is_prefix() && path.version_id.is_some() {
            return Err(S3PathError::VersionOfPrefix);
        }
        Ok(path)
    }

    pub(crate) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of the object, or the prefix; empty for the whole bucket.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn version_id(&self) -> Option<&str> {
        self.version_id.as_deref()
    }

    /// Whether it can only be a prefix: it ends with a slash, or there is no key. A key without a slash may be an object
    /// or a prefix; the object goes first.
    pub(crate) fn is_prefix(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }

    /// Another object of the bucket, in one of its versions where it has any.
    pub(crate) fn object(&self, key: &str, version_id: Option<&str>) -> Self {
        Self {
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            version_id: version_id.map(ToOwned::to_owned),
        }
    }
}

impl fmt::Display for S3Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)?;
        match &self.version_id {
            Some(id) => write!(f, "?versionId={id}"),
            None => Ok(()),
        }
    }
}
