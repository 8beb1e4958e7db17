//! A Kalman filter of the difference of two clocks and its rate.

use crate::protocol::ClockSample;

/// The most that two clocks drift apart, as a share: 1,000 ppm. Ordinary ones stay below 200 ppm.
const MAX_RATE: f64 = 1e-3;
/// What the rate may be at first, one standard deviation: 300 ppm.
const FIRST_RATE: f64 = 300e-6;
/// How the rate wanders: by 1 ppm in a second (and by its square root's law later), one standard deviation.
const WANDER: f64 = 1e-6;
/// A sample so many standard deviations away from what was expected says that the rate has changed.
const SURPRISE: f64 = 3.0;
/// Noise that every sample has: 5 µs of scheduling, and a fiftieth of the shortest round trip.
const LEAST_NOISE_NS: f64 = 5e3;
const LEAST_NOISE_SHARE: f64 = 0.02;
/// The standard deviation of what lies anywhere between -1 and 1.
const OF_UNIFORM: f64 = 0.577;

/// The difference of the clocks at a sample, its rate, and how sure they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// What the manager's clock is ahead by.
    difference_ns: i64,
    /// By how much that grows a nanosecond.
    rate: f64,
    variance: Variance,
}

/// Of the difference (ns²), of both (ns), of the rate.
#[derive(Clone, Copy, Debug)]
struct Variance {
    difference: f64,
    both: f64,
    rate: f64,
}

impl Estimate {
    pub(super) fn first(sample: ClockSample) -> Self {
        Self {
            difference_ns: difference_ns(&sample),
            rate: 0.0,
            variance: Variance {
                difference: noise(sample.round_trip_ns, 0).powi(2),
                both: 0.0,
                rate: FIRST_RATE.powi(2),
            },
        }
    }

    pub(super) fn difference_ns(&self) -> i64 {
        self.difference_ns
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// What the rate may be misjudged by: two standard deviations.
    pub(super) fn rate_error(&self) -> f64 {
        2.0 * self.variance.rate.sqrt()
    }

    /// What is to be thought after a later sample. `least_round_trip_ns` is the shortest lately.
    pub(super) fn after(
        &self,
        earlier: &ClockSample,
        sample: &ClockSample,
        least_round_trip_ns: u64,
    ) -> Self {
        let passed = sample.local_ns.saturating_sub(earlier.local_ns) as f64;
        let mut expected = self.variance.grown(passed);
        let predicted_ns = self.difference_ns.saturating_add(whole(self.rate * passed));
        let surprise = difference_ns(sample).saturating_sub(predicted_ns) as f64;
        let noise = noise(sample.round_trip_ns, least_round_trip_ns);
        if surprise.abs() > SURPRISE * (expected.difference + noise.powi(2)).sqrt() {
            // Not chance: the rate is no longer what it was.
            expected = Variance {
                rate: FIRST_RATE.powi(2),
                both: 0.0,
                ..self.variance
            }
            .grown(passed);
        }
        let total = expected.difference + noise.powi(2);
        let (gain, gain_of_rate) = (expected.difference / total, expected.both / total);
        let estimated_ns = predicted_ns.saturating_add(whole(gain * surprise));
        let rate = (self.rate + gain_of_rate * surprise).clamp(-MAX_RATE, MAX_RATE);
        Self {
            difference_ns: self.bounded(estimated_ns, passed, sample),
            rate,
            variance: Variance {
                difference: (1.0 - gain) * expected.difference,
                both: (1.0 - gain) * expected.both,
                rate: (expected.rate - gain_of_rate * expected.both).max(0.0),
            },
        }
    }

    /// The answer was given during the round trip: that is certain. That clocks drift apart no faster than they do comes first,
    /// so that the map always ascends.
    fn bounded(&self, difference_ns: i64, passed_ns: f64, sample: &ClockSample) -> i64 {
        let center = self::difference_ns(sample);
        let half = i64::try_from(sample.round_trip_ns / 2).unwrap_or(i64::MAX);
        let most = whole(passed_ns * 4.0 * MAX_RATE);
        difference_ns
            .clamp(center.saturating_sub(half), center.saturating_add(half))
            .clamp(
                self.difference_ns.saturating_sub(most),
                self.difference_ns.saturating_add(most),
            )
    }
}

impl Variance {
    /// After so many nanoseconds without a sample.
    fn grown(self, passed_ns: f64) -> Self {
        // The rate is a random walk; WANDER is of a second.
        let wander = WANDER.powi(2) / 1e9 * passed_ns;
        Self {
            difference: self.difference
                + 2.0 * passed_ns * self.both
                + passed_ns.powi(2) * (self.rate + wander / 3.0),
            both: self.both + passed_ns * (self.rate + wander / 2.0),
            rate: self.rate + wander,
        }
    }
}

/// What the manager's clock is ahead by, as the sample says.
fn difference_ns(sample: &ClockSample) -> i64 {
    sample.manager_ns.saturating_sub(sample.local_ns)
}

/// How far a sample may be off, one standard deviation: what its round trip is longer than the shortest may lie on either side.
fn noise(round_trip_ns: u64, least_round_trip_ns: u64) -> f64 {
    let excess = round_trip_ns.saturating_sub(least_round_trip_ns) as f64 / 2.0 * OF_UNIFORM;
    excess + LEAST_NOISE_NS + least_round_trip_ns as f64 * LEAST_NOISE_SHARE
}

/// The nearest whole number of nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a float too large for i64 becomes the largest, which is as far as time goes"
)]
pub(super) fn whole(ns: f64) -> i64 {
    ns.round() as i64
}
