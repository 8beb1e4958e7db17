//! What round trips tell of the difference between two clocks.
//!
//! A worker asks for the manager's clock again and again. Each answer was given at some moment of its round trip, so it says
//! what the clocks differ by within half of that; of one that took longer than the shortest, all that is longer may lie on one
//! side. The difference and its drift are followed from sample to sample by a Kalman filter of these two numbers, which
//! trusts a sample the less the longer it took, so that the shortest round trips win, and the noise of many is averaged. Of each
//! window of time the last estimate is kept; between them the map is linear.

mod filter;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::protocol::ClockSample;
use filter::{Estimate, UNSURE, half};

/// Windows at first, when little is known and every second counts: 2 s.
const FIRST_WINDOW_NS: i64 = 2_000_000_000;
/// For so long: 60 s.
const FIRST_SPAN_NS: i64 = 60_000_000_000;
/// Windows later: 10 s, in which a clock that drifts by the usual 50 ppm and is known within a tenth of that goes astray by
/// 50 µs, far less than a network tells. A day has 8,640 of them.
const WINDOW_NS: i64 = 10_000_000_000;
/// What is known so many times better already is not worth looking at: so a burst of stalled round trips changes nothing, and what
/// was heard in one does not stay.
const FAR_BETTER: f64 = 4.0;
/// Round trips one after the other at first, for a first idea of the difference; then, for 20 s, four a second, which tell of the
/// drift before much has come of it; then one a second, which follow it.
const FIRST_LOOKS: u64 = 16;
const FOLLOWING: u64 = FIRST_LOOKS + 80;
/// Among how many points, at least, the shortest round trip is looked for: what is longer says less.
const LATELY: usize = 12;

/// A map from a worker's clock to the manager's and back: ascending, continuous, piecewise linear, and linear beyond the first and
/// the last that is known. The memory that it takes grows by one point a window.
#[derive(Clone, Debug, Default)]
pub struct ClockMap {
    first_local_ns: Option<i64>,
    newest_local_ns: i64,
    looks: u64,
    points: Vec<Point>,
}

/// What was known at the last sample of a window.
#[derive(Clone, Copy, Debug)]
struct Point {
    window: i64,
    local_ns: i64,
    estimate: Estimate,
    /// Of the window.
    least_round_trip_ns: u64,
}

impl Point {
    fn local_ns(&self) -> i64 {
        self.local_ns
    }

    fn manager_ns(&self) -> i64 {
        self.local_ns.saturating_add(self.estimate.difference_ns())
    }

    /// The most that can be off what is known by this point at another moment, in nanoseconds.
    fn bound_at(&self, local_ns: i64) -> f64 {
        self.estimate.bound_ns() + self.local_ns.abs_diff(local_ns) as f64 * UNSURE
    }
}

impl ClockMap {
    /// Takes a round trip into account. One that is not later than the last is left aside.
    pub fn add(&mut self, sample: ClockSample) {
        self.looks += 1;
        let first_ns = *self.first_local_ns.get_or_insert(sample.local_ns);
        self.newest_local_ns = self.newest_local_ns.max(sample.local_ns);
        let latest = self.points.last().copied();
        let says_nothing = |latest: Point| {
            sample.local_ns <= latest.local_ns
                || FAR_BETTER * latest.bound_at(sample.local_ns) < half(sample.round_trip_ns)
        };
        if latest.is_some_and(says_nothing) {
            return;
        }
        self.forget_what_is_known_better(&sample);
        let window = window_of(sample.local_ns.saturating_sub(first_ns));
        let known = self.points.last().copied();
        let mut point = Point {
            window,
            local_ns: sample.local_ns,
            estimate: match (known, latest) {
                (Some(known), _) => {
                    let passed_ns = sample.local_ns.saturating_sub(known.local_ns) as f64;
                    known
                        .estimate
                        .after(passed_ns, &sample, self.least_round_trip_ns(&sample))
                }
                (None, Some(latest)) => latest.estimate.restarted(&sample),
                (None, None) => Estimate::first(&sample),
            },
            least_round_trip_ns: sample.round_trip_ns,
        };
        if let Some(known) = known.filter(|known| known.window == window) {
            point.least_round_trip_ns = known.least_round_trip_ns.min(point.least_round_trip_ns);
            self.points.pop();
        }
        self.points.push(point);
    }

    /// Forgets the last points, of whose moments a sample says more than they do.
    fn forget_what_is_known_better(&mut self, sample: &ClockSample) {
        let is_better = |point: &Point| {
            let distance = sample.local_ns.abs_diff(point.local_ns) as f64;
            FAR_BETTER * (half(sample.round_trip_ns) + distance * UNSURE) < point.estimate.bound_ns()
        };
        while self.points.last().is_some_and(is_better) {
            self.points.pop();
        }
    }

    /// The shortest round trip lately, `sample`'s included.
    fn least_round_trip_ns(&self, sample: &ClockSample) -> u64 {
        let lately = self.points.iter().rev().take(LATELY);
        lately
            .map(|point| point.least_round_trip_ns)
            .fold(sample.round_trip_ns, u64::min)
    }

    /// How long to wait before the next round trip.
    #[must_use]
    pub fn next_look(&self) -> Duration {
        match self.looks {
            0..FIRST_LOOKS => Duration::ZERO,
            FIRST_LOOKS..FOLLOWING => Duration::from_millis(250),
            FOLLOWING.. => Duration::from_secs(1),
        }
    }

    /// Whether anything is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.points.is_empty()
    }

    /// What the manager's clock shows when the worker's shows `local_ns`. The same number as long as nothing is known.
    #[must_use]
    pub fn to_manager_ns(&self, local_ns: i64) -> i64 {
        self.map(local_ns, Point::local_ns, Point::manager_ns, |rate| rate)
    }

    /// What the worker's clock shows when the manager's shows `manager_ns`. The same number as long as nothing is known.
    #[must_use]
    pub fn to_local_ns(&self, manager_ns: i64) -> i64 {
        self.map(manager_ns, Point::manager_ns, Point::local_ns, |rate| {
            -rate / (1.0 + rate)
        })
    }

    /// Maps `at` along the points. `rate` makes of the share by which the manager's clock runs faster that of the clock mapped to.
    fn map(
        &self,
        at: i64,
        from: impl Fn(&Point) -> i64,
        to: impl Fn(&Point) -> i64,
        rate: impl Fn(f64) -> f64,
    ) -> i64 {
        let after = self.points.partition_point(|point| from(point) <= at);
        match (
            after.checked_sub(1).map(|before| &self.points[before]),
            self.points.get(after),
        ) {
            (None, None) => at,
            (Some(before), Some(after)) => {
                let span = from(after).saturating_sub(from(before));
                let rise = to(after).saturating_sub(to(before));
                let since = at.saturating_sub(from(before));
                along(to(before), since, (rise - span) as f64 / span as f64)
            }
            // Beyond the points: as fast as was known last, which is what was known best.
            (Some(point), None) | (None, Some(point)) => {
                along(to(point), at.saturating_sub(from(point)), rate(self.rate()))
            }
        }
    }

    /// The share by which the manager's clock runs faster than the worker's.
    fn rate(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.estimate.rate())
    }

    /// How much faster the worker's clock runs than the manager's, in millionths.
    #[must_use]
    pub fn drift_ppm(&self) -> f64 {
        let rate = self.rate();
        -rate / (1.0 + rate) * 1e6
    }

    /// How far a mapped time may be off, in nanoseconds: the most that the worst point may be, which is half of a round trip, and
    /// what the drift may have been misjudged by over the longest time without one. 0 as long as nothing is known.
    #[must_use]
    pub fn error_ns(&self) -> u64 {
        let Some(last) = self.points.last() else { return 0 };
        let bounds = self.points.iter().map(|point| point.estimate.bound_ns());
        let bound = bounds.fold(0.0, f64::max);
        let locals = self.points.iter().map(Point::local_ns);
        let ends = locals.clone().skip(1).chain([self.newest_local_ns]);
        let gap = locals.zip(ends).map(|(from, to)| to.saturating_sub(from)).max();
        let unsure = last.estimate.rate_error().min(UNSURE);
        filter::whole(bound + unsure * gap.unwrap_or_default() as f64).unsigned_abs()
    }
}

fn window_of(age_ns: i64) -> i64 {
    if age_ns < FIRST_SPAN_NS {
        age_ns.div_euclid(FIRST_WINDOW_NS)
    } else {
        FIRST_SPAN_NS / FIRST_WINDOW_NS + (age_ns - FIRST_SPAN_NS) / WINDOW_NS
    }
}

fn along(from: i64, since: i64, rate: f64) -> i64 {
    from.saturating_add(since)
        .saturating_add(filter::whole(since as f64 * rate))
}
