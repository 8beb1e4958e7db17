//! SHA-256 digests, as Reprise prints and stores them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
/// A SHA-256 digest. Prints as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest whose bytes these are.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest's bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let nibbles: Option<Vec<u8>> = text
            .chars()
            .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
            .collect();
        let bytes: Option<Vec<u8>> = nibbles.map(|nibbles| {
            nibbles
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |byte, nibble| byte << 4 | nibble))
                .collect()
        });
        match (text.len(), bytes.and_then(|bytes| bytes.try_into().ok())) {
            (64, Some(bytes)) => Ok(Self(bytes)),
            _ => Err(NotADigest(text)),
        }
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        Self::try_from(text.to_owned())
    }
}

/// A text that is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("Cannot use {0:?} as a digest: it is not 64 hexadecimal digits. Use one that Reprise printed.")]
pub struct NotADigest(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_hexadecimal() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let digest = Digest::try_from(text.to_owned()).unwrap();
        assert_eq!((digest.as_bytes()[0], digest.to_string().as_str()), (0xe3, text));
        assert!(Digest::try_from("e3b0".to_owned()).is_err());
        assert!(Digest::try_from("é".repeat(32)).is_err());
    }
}
