//! What is known of a worker's clock.

use reprise_contract::protocol::ClockSample;

/// How well a worker's clock is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockNumbers {
    /// How far a mapped time may be off, in nanoseconds.
    pub error_ns: u64,
    /// How much faster the worker's clock runs than the manager's, in millionths.
    pub drift_ppm: f64,
    /// Round trips that were looked at.
    pub samples: u64,
}

/// Maps one worker's clock to the manager's.
#[derive(Default)]
pub(super) struct WorkerClock {
    best: Option<ClockSample>,
    samples: u64,
}

impl WorkerClock {
    pub(super) fn add(&mut self, samples: &[ClockSample]) {
        for sample in samples {
            self.samples += 1;
            if self
                .best
                .is_none_or(|best| sample.round_trip_ns < best.round_trip_ns)
            {
                self.best = Some(*sample);
            }
        }
    }

    /// The manager's clock when the worker's showed `local_ns`; `None` before anything is known.
    pub(super) fn to_manager_ns(&self, local_ns: i64) -> Option<i64> {
        self.best.map(|best| {
            best.manager_ns
                .saturating_add(local_ns.saturating_sub(best.local_ns))
        })
    }

    pub(super) fn numbers(&self) -> Option<ClockNumbers> {
        self.best.map(|best| ClockNumbers {
            error_ns: best.round_trip_ns / 2,
            drift_ppm: 0.0,
            samples: self.samples,
        })
    }
}
