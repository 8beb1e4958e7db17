//! What is known of a worker's clock.

use reprise_contract::clock::ClockMap;
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
    map: ClockMap,
    samples: u64,
}

impl WorkerClock {
    pub(super) fn add(&mut self, samples: &[ClockSample]) {
        for sample in samples {
            self.map.add(*sample);
            self.samples += 1;
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.map.is_known()
    }

    /// The manager's clock when the worker's showed `local_ns`.
    pub(super) fn to_manager_ns(&self, local_ns: i64) -> i64 {
        self.map.to_manager_ns(local_ns)
    }

    /// `None` before anything is known.
    pub(super) fn numbers(&self) -> Option<ClockNumbers> {
        self.map.is_known().then(|| ClockNumbers {
            error_ns: self.map.error_ns(),
            drift_ppm: self.map.drift_ppm(),
            samples: self.samples,
        })
    }
}
