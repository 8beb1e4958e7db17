//! A worker's clock: monotonic nanoseconds since its T0.

use std::time::{Duration, Instant};

/// Local time: monotonic nanoseconds since the instant that this worker takes for T0; negative before it. All stamps are of
/// this clock, whatever is learned later of how it differs from those of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    t0: Instant,
}

impl Clock {
    pub(crate) fn starting_at(t0: Instant) -> Self {
        Self { t0 }
    }

    pub(crate) fn now(self) -> i64 {
        self.at(Instant::now())
    }

    pub(crate) fn at(self, instant: Instant) -> i64 {
        match instant.checked_duration_since(self.t0) {
            Some(after) => nanos(after),
            None => -nanos(self.t0 - instant),
        }
    }

    /// The instant of a local time. One before the system's own clock began counts as T0.
    pub(crate) fn instant(self, local_ns: i64) -> Instant {
        let distance = Duration::from_nanos(local_ns.unsigned_abs());
        if local_ns < 0 {
            self.t0.checked_sub(distance).unwrap_or(self.t0)
        } else {
            self.t0 + distance
        }
    }
}

/// A duration in nanoseconds; one of more than 292 years counts as that long.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
