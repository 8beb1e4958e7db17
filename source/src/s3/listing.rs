//! What lies below a prefix.

use aws_sdk_s3::types::Object;
use reprise_contract::Digest;

use super::problem::S3Problem;
use crate::digest::Hasher;
use crate::remote::RemoteFile;

/// More files than this are a mistake in the reference, or would be a burden to everyone.
pub(super) const MAX_FILES: usize = 100_000;

/// A file below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) key: String,
    pub(super) size: Option<u64>,
    pub(super) tag: Option<String>,
}

impl Listed {
    /// As a file of the folder that the prefix is.
    pub(super) fn below(self, prefix: &str) -> RemoteFile {
        RemoteFile {
            name: self.key.strip_prefix(prefix).unwrap_or(&self.key).to_owned(),
            location: self.key,
            size: self.size,
            sha256: None,
            tag: self.tag,
        }
    }

    /// Consoles make an empty object with a slash at its end to show a folder.
    fn is_folder_marker(&self) -> bool {
        self.key.ends_with('/') && self.size == Some(0)
    }
}

impl From<&Object> for Listed {
    fn from(object: &Object) -> Self {
        Self {
            key: object.key().unwrap_or_default().to_owned(),
            size: object.size().and_then(|size| u64::try_from(size).ok()),
            tag: object.e_tag().map(ToOwned::to_owned),
        }
    }
}

/// The files of all pages so far.
#[derive(Debug, Default)]
pub(super) struct Listing(Vec<Listed>);

impl Listing {
    /// # Errors
    ///
    /// When they are too many.
    pub(super) fn add(&mut self, page: &[Object]) -> Result<(), S3Problem> {
        let files = page
            .iter()
            .map(Listed::from)
            .filter(|file| !file.is_folder_marker());
        self.0.extend(files);
        if self.0.len() > MAX_FILES {
            return Err(S3Problem::TooManyFiles { limit: MAX_FILES });
        }
        Ok(())
    }

    /// Not every kind of bucket lists in the order of keys.
    pub(super) fn into_sorted(mut self) -> Vec<Listed> {
        self.0.sort_by(|a, b| a.key.cmp(&b.key));
        self.0
    }
}

/// The version of a prefix: the digest of a line for each file, `<key> <etag>`, in the order of keys.
pub(super) fn digest(files: &[Listed]) -> Digest {
    let mut hasher = Hasher::default();
    for file in files {
        let tag = file.tag.as_deref().unwrap_or_default();
        hasher.update(format!("{} {tag}\n", file.key).as_bytes());
    }
    hasher.digest()
}
