//! Random numbers that nothing depends on: for waits that must not fall together.

use std::hash::{BuildHasher, RandomState};

/// A random number. The standard library seeds its hash maps from the system.
fn number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A random number from 0 to 1.
pub(super) fn share() -> f64 {
    number() as f64 / u64::MAX as f64
}
