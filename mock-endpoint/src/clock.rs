//! The endpoint's clock: the machine's monotonic clock, with the instant at which the endpoint started as zero.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Reads `CLOCK_MONOTONIC` in nanoseconds. All processes of one machine share this clock.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Reads the wall clock in nanoseconds since the Unix epoch; 0 where the machine's clock stands before 1970.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// When the endpoint started, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// On the monotonic clock, in nanoseconds.
    pub(crate) monotonic_ns: u64,
    /// On the wall clock, in nanoseconds since the Unix epoch.
    pub(crate) unix_ns: u64,
}

impl Epoch {
    /// Takes the present instant.
    pub(crate) fn now() -> Self {
        Self {
            monotonic_ns: monotonic_ns(),
            unix_ns: unix_ns(),
        }
    }

    /// Turns a reading of the monotonic clock into nanoseconds since the start.
    pub(crate) fn since_start(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.monotonic_ns)
    }

    /// The wall-clock second that belongs to a reading of the monotonic clock.
    pub(crate) fn unix_seconds(&self, monotonic_ns: u64) -> u64 {
        (self.unix_ns + self.since_start(monotonic_ns)) / 1_000_000_000
    }
}
