//! SHA-256, as contents and schedules are named by it.

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
