//! `s3://<bucket>/<key>[?versionId=<id>]` and `s3://<bucket>/<prefix>/`

use std::fmt;

const VERSION_ID: &str = "?versionId=";

/// An object, or all objects below a prefix.
///
/// Keys are literal, as the AWS command line takes them: `%20` in one is three characters, and `#` is one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct S3Path {
    bucket: String,
    /// Without a leading slash; empty, or with a slash at its end, for a prefix.
    key: String,
    version_id: Option<String>,
}

/// Why a text is not the path of something in S3. Its text follows `Cannot use <reference>: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum S3PathError {
    /// Nothing before the first slash.
    #[error("it names no bucket. Write s3://<bucket>/<key>.")]
    NoBucket,
    /// A name that no bucket has.
    #[error(
        "that is no bucket's name. A bucket has 3 to 63 lower-case letters, digits, hyphens and dots in its name, \
         with a letter or digit at both ends. Write s3://<bucket>/<key>."
    )]
    Bucket,
    /// An access point, by its ARN.
    #[error("an ARN is not supported. Write the access point's alias where a bucket's name stands.")]
    Arn,
    /// A form that can be written right.
    #[error("{what}. Write {instead}.")]
    Form {
        /// What is wrong with it.
        what: &'static str,
        /// What to write.
        instead: String,
    },
    /// `?name=value` other than `?versionId=`.
    #[error(
        "of parameters, s3:// takes a version and nothing else. Write ?versionId=<id> after the key, or leave out what \
         follows the ?. Endpoint and region are options of their own."
    )]
    Parameters,
    /// An empty version, or one with characters that none has.
    #[error(
        "what follows ?versionId= is no version of an object. Copy the version from the bucket's list of them."
    )]
    Version,
    /// A version of a prefix, which has none.
    #[error("only an object has a version, and this is a prefix. Leave ?versionId= out, or name the object.")]
    VersionOfPrefix,
    /// A key that would lead elsewhere as a path, or that nobody can type.
    #[error(
        "its key has a . or .. part or a control character, which Reprise does not fetch. Copy the object to another key."
    )]
    Key,
}

impl S3Path {
    /// Parses what follows `s3://`.
    pub(crate) fn parse(text: &str) -> Result<Self, S3PathError> {
        refuse_slashes_and_hosts(text)?;
        let (path, version_id) = match text.rsplit_once(VERSION_ID) {
            Some((path, id)) => (path, Some(parse_version_id(id)?)),
            None => (text, None),
        };
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        check_bucket(bucket, &text[bucket.len()..])?;
        if version_id.is_none() && super::has_parameters(key) {
            return Err(S3PathError::Parameters);
        }
        if key.contains(char::is_control) || key.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(S3PathError::Key);
        }
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

    /// What lies at `path` below it, in its latest version.
    pub(crate) fn below(&self, path: &str) -> Self {
        let slash = if self.is_prefix() || path.is_empty() {
            ""
        } else {
            "/"
        };
        self.object(&format!("{}{slash}{path}", self.key), None)
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
            Some(id) => write!(f, "{VERSION_ID}{id}"),
            None => Ok(()),
        }
    }
}

/// `s3:///bucket/…`, `s3://bucket//key` and `s3://bucket.s3.amazonaws.com/…`.
fn refuse_slashes_and_hosts(text: &str) -> Result<(), S3PathError> {
    let form = |what, instead: String| Err(S3PathError::Form { what, instead });
    let trimmed = text.trim_start_matches('/');
    if trimmed.is_empty() {
        return Err(S3PathError::NoBucket);
    }
    if trimmed.len() < text.len() {
        return form("only two slashes follow s3:", format!("s3://{trimmed}"));
    }
    let (host, key) = text.split_once('/').unwrap_or((text, ""));
    if key.starts_with('/') {
        let key = key.trim_start_matches('/');
        return form(
            "only one slash follows the bucket's name",
            format!("s3://{host}/{key}"),
        );
    }
    match bucket_of_host(host) {
        Some("") => form("s3:// takes no host", format!("s3://{key}")),
        Some(bucket) => form("s3:// takes no host", format!("s3://{bucket}/{key}")),
        None => Ok(()),
    }
}

/// The bucket in the name of one of Amazon's hosts: empty where it stands in the path; `None` for any other host.
fn bucket_of_host(host: &str) -> Option<&str> {
    let name = host.strip_suffix(".amazonaws.com")?;
    match name.rfind(".s3.").or_else(|| name.rfind(".s3-")) {
        Some(at) => Some(&name[..at]),
        None => Some(name.strip_suffix(".s3").unwrap_or_default()),
    }
}

fn check_bucket(bucket: &str, rest: &str) -> Result<(), S3PathError> {
    let lower = bucket.to_ascii_lowercase();
    if lower.starts_with("arn:") {
        Err(S3PathError::Arn)
    } else if is_bucket(bucket) {
        Ok(())
    } else if is_bucket(&lower) {
        Err(S3PathError::Form {
            what: "the names of buckets have no upper-case letters",
            instead: format!("s3://{lower}{rest}"),
        })
    } else {
        Err(S3PathError::Bucket)
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

fn parse_version_id(id: &str) -> Result<String, S3PathError> {
    let is_refused = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '&' | '?');
    if id.is_empty() || id.contains(is_refused) {
        return Err(S3PathError::Version);
    }
    Ok(id.to_owned())
}
