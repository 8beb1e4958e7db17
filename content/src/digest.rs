//! SHA-256, as contents and schedules are named by it.

use std::io::{self, Write};

use reprise_contract::Digest;
use sha2::{Digest as _, Sha256};

/// The digest of `bytes`.
#[must_use]
pub fn of(bytes: &[u8]) -> Digest {
    finish(Sha256::new_with_prefix(bytes))
}

/// The digest of all that `hasher` was fed.
pub(crate) fn finish(hasher: Sha256) -> Digest {
    Digest::from_bytes(hasher.finalize().into())
}

/// Hashes what is written through it.
pub(crate) struct HashingWriter<W> {
    sink: W,
    hasher: Sha256,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(sink: W) -> Self {
        Self {
            sink,
            hasher: Sha256::new(),
        }
    }

    /// Flushes, and gives the sink back with the digest of all that went through.
    pub(crate) fn finish(mut self) -> io::Result<(W, Digest)> {
        self.sink.flush()?;
        Ok((self.sink, finish(self.hasher)))
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
