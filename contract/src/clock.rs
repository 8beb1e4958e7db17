//! What round trips tell of the difference between two clocks.
//!
//! A worker asks for the manager's clock again and again. Each answer was given at some moment of its round trip, so it says
//! what the clocks differ by within half of that; of answers that took longer than the shortest ones, all that is longer may lie
//! on one side. So in each window of time the sample of the shortest round trip wins (the rule of NTP's clock filter), and
//! the difference and its drift are followed from window to window by a Kalman filter of these two numbers, which trusts
//! a sample the less the longer it took. Between windows the map is linear.

mod filter;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use crate::protocol::ClockSample;
use filter::Estimate;

/// Windows at first, when little is known and every second counts: 2 s.
const FIRST_WINDOW_NS: i64 = 2_000_000_000;
/// For so long: 60 s.
const FIRST_SPAN_NS: i64 = 60_000_000_000;
/// Windows later: 10 s, in which a clock that drifts by the usual 50 ppm and is known within a tenth of that goes astray by
/// 50 µs, far less than a network tells. A day has 8,640 of them.
const WINDOW_NS: i64 = 10_000_000_000;
/// How fast what was known becomes unsure, at worst, as a share: 500 ppm. A sample whose round trip says less than what is
/// known already grown by this is left aside: so a burst of stalled ones changes nothing.
const UNSURE: f64 = 500e-6;

/// A map from a worker's clock to the manager's and back: ascending, continuous, piecewise linear, and linear beyond the first and the
/// last that is known. The memory that it takes grows by one point a window.
#[derive(Clone, Debug, Default)]
pub struct ClockMap {
    first_local_ns: Option<i64>,
    newest_local_ns: i64,
    points: Vec<Point>,
}

/// The sample of a window, and what was made of it and all before.
#[derive(Clone, Copy, Debug)]
struct Point {
    window: i64,
    sample: ClockSample,
    estimate: Estimate,
}

impl Point {
    fn local_ns(&self) -> i64 {
        self.sample.local_ns
    }

    fn manager_ns(&self) -> i64 {
        self.sample.local_ns.saturating_add(self.estimate.difference_ns())
    }

    /// The most that the sample can be off, in nanoseconds.
    fn bound_ns(&self) -> f64 {
        half(self.sample.round_trip_ns)
    }

    /// Whether this one says more of the moment of `other` than that does itself.
    fn outweighs(&self, other: ClockSample) -> bool {
        let distance_ns = self.local_ns().abs_diff(other.local_ns) as f64;
        self.bound_ns() + distance_ns * UNSURE < half(other.round_trip_ns)
    }
}

fn half(round_trip_ns: u64) -> f64 {
    round_trip_ns as f64 / 2.0
}

impl ClockMap {
    /// Takes a round trip into account. One of an earlier window than the last is left aside.
    pub fn add(&mut self, sample: ClockSample) {
        let first_ns = *self.first_local_ns.get_or_insert(sample.local_ns);
        self.newest_local_ns = self.newest_local_ns.max(sample.local_ns);
        let window = window_of(sample.local_ns.saturating_sub(first_ns));
        if let Some(last) = self.points.last() {
            let is_better_in_window =
                last.window == window && sample.round_trip_ns < last.sample.round_trip_ns;
            if window < last.window
                || (last.window == window && !is_better_in_window)
                || last.outweighs(sample)
            {
                return;
            }
        }
        self.push(window, sample);
    }

    /// Makes a sample the newest point, in the place of those that it makes worthless.
    fn push(&mut self, window: i64, sample: ClockSample) {
        while self
            .points
            .last()
            .is_some_and(|last| is_replaced(last, window, sample))
        {
            self.points.pop();
        }
        let estimate = match self.points.last() {
            None => Estimate::first(sample),
            Some(last) => last
                .estimate
                .after(&last.sample, &sample, self.least_round_trip_ns(&sample)),
        };
        self.points.push(Point {
            window,
            sample,
            estimate,
        });
    }

    /// The shortest round trip lately, `sample`'s included: what is longer says less.
    fn least_round_trip_ns(&self, sample: &ClockSample) -> u64 {
        const LATELY: usize = 60;
        let lately = self.points.iter().rev().take(LATELY);
        lately
            .map(|point| point.sample.round_trip_ns)
            .fold(sample.round_trip_ns, u64::min)
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

    /// How far a mapped time may be off, in nanoseconds: half of the longest round trip that the map rests on, and what the
    /// drift may have been misjudged by over the longest time without one. 0 as long as nothing is known.
    #[must_use]
    pub fn error_ns(&self) -> u64 {
        let Some(last) = self.points.last() else { return 0 };
        let bound = self.points.iter().map(Point::bound_ns).fold(0.0, f64::max);
        let locals = self.points.iter().map(Point::local_ns);
        let ends = locals.clone().skip(1).chain([self.newest_local_ns]);
        let gap = locals.zip(ends).map(|(from, to)| to.saturating_sub(from)).max();
        let unsure = last.estimate.rate_error().min(UNSURE);
        filter::whole(bound + unsure * gap.unwrap_or_default() as f64).unsigned_abs()
    }
}

/// Whether a newer sample takes this point's place: it is the better one of the same window, or says more of the point's moment.
fn is_replaced(point: &Point, window: i64, sample: ClockSample) -> bool {
    let newer = Point {
        window,
        sample,
        estimate: Estimate::first(sample),
    };
    point.window == window || point.local_ns() >= sample.local_ns || newer.outweighs(point.sample)
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
