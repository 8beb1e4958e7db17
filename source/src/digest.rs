//! SHA-256 digests, of a whole and of what is read on the way.

use std::fmt;
use std::io::{self, Read};

use sha2::Digest;

/// A SHA-256 digest. `Display` is its 64 hex digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha256([u8; 32]);

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

/// A digest in the making.
#[derive(Default)]
pub(crate) struct Hasher(sha2::Sha256);

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn digest(&self) -> Sha256 {
        Sha256(self.0.clone().finalize().into())
    }
}

/// Hashes all that is read through it.
pub(crate) struct Hashing<R> {
    reader: R,
    hasher: Hasher,
}

impl<R> Hashing<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            hasher: Hasher::default(),
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Of what was read so far.
    pub(crate) fn digest(&self) -> Sha256 {
        self.hasher.digest()
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..length]);
        Ok(length)
    }
}
