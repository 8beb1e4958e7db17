//! A Kalman filter of the difference of two clocks and its rate.

use crate::protocol::ClockSample;

/// The most that two clocks drift apart, as a share: 1,000 ppm. Ordinary ones stay below 200 ppm.
const MAX_RATE: f64 = 1e-3;
/// How fast what was known becomes unsure, at worst, as a share: 500 ppm.
pub(super) const UNSURE: f64 = 500e-6;
/// The most that the estimated difference grows or shrinks from sample to sample, as a share of the time: 4,000 ppm. That is more
/// than clocks drift and less than would let the map descend.
const MAX_STEP: f64 = 4e-3;
/// What the rate may be at first, one standard deviation: 500 ppm.
const FIRST_RATE: f64 = 500e-6;
/// How the rate wanders: by 3 ppm in a second, one standard deviation, and with the square root of time.
const WANDER: f64 = 3e-6;
/// A sample so many standard deviations away from what was expected says that the rate has changed.
const SURPRISE: f64 = 3.0;
/// Noise that every sample has: 5 µs of scheduling, and a twentieth of the shortest round trip.
const LEAST_NOISE_NS: f64 = 5e3;
const LEAST_NOISE_SHARE: f64 = 0.05;
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
    /// The most that the difference can be off, in nanoseconds.
    bound_ns: f64,
}

/// Of the difference (ns²), of both (ns), of the rate.
#[derive(Clone, Copy, Debug)]
struct Variance {
    difference: f64,
    both: f64,
    rate: f64,
}

impl Estimate {
    pub(super) fn first(sample: &ClockSample) -> Self {
        Self {
            difference_ns: difference_ns(sample),
            rate: 0.0,
            variance: Variance {
                difference: noise(sample.round_trip_ns, 0).powi(2),
                both: 0.0,
                rate: FIRST_RATE.powi(2),
            },
            bound_ns: half(sample.round_trip_ns),
        }
    }

    /// What is to be thought after a sample that says more than all before, but for the rate.
    pub(super) fn restarted(&self, sample: &ClockSample) -> Self {
        let mut estimate = Self::first(sample);
        estimate.rate = self.rate;
        estimate.variance.rate = self.variance.rate;
        estimate
    }

    pub(super) fn difference_ns(&self) -> i64 {
        self.difference_ns
    }

    pub(super) fn bound_ns(&self) -> f64 {
        self.bound_ns
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// What the rate may be misjudged by: two standard deviations.
    pub(super) fn rate_error(&self) -> f64 {
        2.0 * self.variance.rate.sqrt()
    }

    /// What is to be thought after a sample that came so many nanoseconds later. `least_round_trip_ns` is the shortest lately.
    pub(super) fn after(&self, passed: f64, sample: &ClockSample, least_round_trip_ns: u64) -> Self {
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
        // Between what was expected and what was heard, the estimate is off by no more than their bounds, weighed alike.
        let (bound_before, bound_of_sample) = (self.bound_ns + passed * UNSURE, half(sample.round_trip_ns));
        let bound = (1.0 - gain) * bound_before + gain * bound_of_sample;
        let heard_ns = within(estimated_ns, difference_ns(sample), bound_of_sample);
        let reachable_ns = within(heard_ns, self.difference_ns, passed * MAX_STEP);
        Self {
            difference_ns: reachable_ns,
            rate: (self.rate + gain_of_rate * surprise).clamp(-MAX_RATE, MAX_RATE),
            variance: Variance {
                difference: (1.0 - gain) * expected.difference,
                both: (1.0 - gain) * expected.both,
                rate: (expected.rate - gain_of_rate * expected.both).max(0.0),
            },
            bound_ns: if reachable_ns == heard_ns {
                bound.min(bound_of_sample)
            } else {
                bound_before.max(bound_of_sample)
            },
        }
    }
}

/// The number nearest to `ns` that is no further than `most` from `center`.
fn within(ns: i64, center: i64, most: f64) -> i64 {
    let most = whole(most);
    ns.clamp(center.saturating_sub(most), center.saturating_add(most))
}

/// The most that an answer can be away from the middle of its round trip, in nanoseconds.
pub(super) fn half(round_trip_ns: u64) -> f64 {
    round_trip_ns as f64 / 2.0
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
