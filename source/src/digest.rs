//! SHA-256 digests, of a whole and of what is read on the way.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use reprise_contract::Digest;
use sha2::{Digest as _, Sha256};

/// A digest in the making.
#[derive(Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::from_bytes(self.0.clone().finalize().into())
    }
}

/// The only digest, or else that of a text with a line for each of them.
pub(crate) fn digest_of_digests(digests: &[Digest]) -> Digest {
    if let [only] = digests {
        return *only;
    }
    let mut hasher = Hasher::default();
    for digest in digests {
        hasher.update(format!("{digest}\n").as_bytes());
    }
    hasher.digest()
}

/// The digest of a file.
pub(crate) fn digest_of_file(path: &Path) -> io::Result<Digest> {
    let mut hashing = Hashing::new(File::open(path)?);
    let mut buffer = vec![0; 1024 * 1024];
    while hashing.read(&mut buffer)? > 0 {}
    Ok(hashing.digest())
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
    pub(crate) fn digest(&self) -> Digest {
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
