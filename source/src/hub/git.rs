//! Names that git gives: commits, and contents by their hash.

use std::io::{self, Read};

use reprise_contract::Digest;
use sha1::{Digest as _, Sha1};

/// Whether a text is a whole commit: 40 hexadecimal digits.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of a blob, in the cache and in entity tags: the SHA-256 of a file in large file storage, git's own object
/// name of any other. In lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlobName {
    Lfs(Digest),
    Git(String),
}

impl BlobName {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if is_commit(text) {
            return Some(Self::Git(text.to_ascii_lowercase()));
        }
        text.to_ascii_lowercase().parse().ok().map(Self::Lfs)
    }

    pub(super) fn of_etag(text: &str) -> Option<Self> {
        Self::parse(text.strip_prefix("W/").unwrap_or(text).trim_matches('"'))
    }

    pub(super) fn sha256(&self) -> Option<Digest> {
        match self {
            Self::Lfs(digest) => Some(*digest),
            Self::Git(_) => None,
        }
    }

    /// Whether this is the name of what `content` gives, all `length` bytes of it, whose SHA-256 is known.
    pub(super) fn names(&self, sha256: Digest, length: u64, content: impl Read) -> io::Result<bool> {
        match self {
            Self::Lfs(digest) => Ok(*digest == sha256),
            Self::Git(name) => Ok(*name == object_name(length, content)?),
        }
    }
}

impl std::fmt::Display for BlobName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lfs(digest) => digest.fmt(f),
            Self::Git(name) => f.write_str(name),
        }
    }
}

/// Git hashes a blob with its kind and its length in front.
fn object_name(length: u64, mut content: impl Read) -> io::Result<String> {
    let mut hasher = Sha1::new_with_prefix(format!("blob {length}\0"));
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = content.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    let digits = hasher.finalize();
    Ok(digits
        .iter()
        .fold(String::new(), |name, byte| name + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_named_as_git_names_them() {
        // As `git hash-object` says.
        assert_eq!(
            object_name(0, &b""[..]).unwrap(),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        assert_eq!(
            object_name(6, &b"hello\n"[..]).unwrap(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
    }

    #[test]
    fn entity_tags_name_blobs() {
        let git = "ce013625030ba8dba906f756967f9e9ca394464a";
        for tag in [
            git.to_owned(),
            format!("\"{git}\""),
            format!("W/\"{git}\""),
            git.to_uppercase(),
        ] {
            assert_eq!(
                BlobName::of_etag(&tag),
                Some(BlobName::Git(git.to_owned())),
                "{tag}"
            );
        }
        let lfs = "ab".repeat(32);
        assert_eq!(BlobName::of_etag(&lfs).unwrap().to_string(), lfs);
        for tag in ["", "\"\"", "../../etc/passwd", "xyz", &git[1..]] {
            assert_eq!(BlobName::of_etag(tag), None, "{tag}");
        }
    }
}
