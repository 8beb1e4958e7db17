//! The hash of a schedule.

use sha2::{Digest as _, Sha256};

use super::{Mode, Request, Schedule};
use crate::digest;
use reprise_contract::Digest;

/// Names the layout below; it changes with it.
const LAYOUT: &[u8] = b"reprise schedule/1\0";

/// SHA-256 over the mode and every request's numbers, each as 8 bytes, little-endian, absent ones as all ones.
pub(super) fn hash(schedule: &Schedule) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(LAYOUT);
    let (mode, sessions) = match schedule.mode {
        Mode::Recorded => (0, 0),
        Mode::Rate => (1, 0),
        Mode::Concurrency(sessions) => (2, sessions.get()),
    };
    hasher.update(u64::from(sessions).to_le_bytes());
    hasher.update([mode]);
    for request in &schedule.requests {
        hasher.update(numbers(request).map(u64::to_le_bytes).as_flattened());
    }
    digest::finish(hasher)
}

fn numbers(request: &Request) -> [u64; 5] {
    [
        u64::from(request.turn),
        request.offset_ns.map_or(u64::MAX, i64::cast_unsigned),
        request.delay_ns,
        request.next.map_or(u64::MAX, u64::from),
        u64::from(request.is_warmup),
    ]
}
