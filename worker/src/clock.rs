//! The run's clock: monotonic nanoseconds since T0.

use std::time::{Duration, Instant};

/// Monotonic nanoseconds since T0; negative before it.
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

    /// The instant of an offset. Offsets before T0 give T0: nothing goes earlier.
    pub(crate) fn instant(self, offset_ns: i64) -> Instant {
        self.t0 + Duration::from_nanos(offset_ns.max(0).unsigned_abs())
    }
}

/// A duration in nanoseconds; one of more than 292 years counts as that long.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
