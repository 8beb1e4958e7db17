//! Clocks that drift, seen over a network that delays: the map is asked at every instant with what is known by then.

use super::*;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
const HOUR: i64 = 3_600;

/// A small generator (splitmix), so that a run is the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((mixed ^ (mixed >> 31)) % bound.unsigned_abs()).unwrap()
    }

    /// 20 ms, and 5 ms more or less.
    fn delay(&mut self) -> i64 {
        15 * MS + self.below(10 * MS)
    }
}

/// A worker whose clock differs from the manager's, which shows the true time, by what `ahead` says of a true time.
struct Simulation<F> {
    ahead: F,
    chance: Chance,
    map: ClockMap,
}

impl<F: Fn(i64) -> i64> Simulation<F> {
    fn new(seed: u64, ahead: F) -> Self {
        Self {
            ahead,
            chance: Chance(seed),
            map: ClockMap::default(),
        }
    }

    fn local(&self, true_ns: i64) -> i64 {
        true_ns + (self.ahead)(true_ns)
    }

    /// A round trip that begins then; gives when it ends.
    fn ask(&mut self, true_ns: i64) -> i64 {
        let answered = true_ns + self.chance.delay();
        let heard = answered + self.chance.delay();
        let (before, after) = (self.local(true_ns), self.local(heard));
        self.map.add(ClockSample {
            local_ns: before + (after - before) / 2,
            manager_ns: answered,
            round_trip_ns: (after - before).unsigned_abs(),
        });
        heard
    }

    /// How far off the map is now.
    fn error(&self, true_ns: i64) -> i64 {
        self.map.to_manager_ns(self.local(true_ns)) - true_ns
    }

    fn whole_hour(&mut self) -> f64 {
        let whole = 0..HOUR + 1;
        self.hour(std::slice::from_ref(&whole))[0]
    }

    /// 16 round trips at once and then one a second for an hour. Gives the greatest error, ms, within each span of time.
    fn hour(&mut self, spans: &[std::ops::Range<i64>]) -> Vec<f64> {
        let mut now = 0;
        for _ in 0..16 {
            now = self.ask(now);
        }
        let mut worst = vec![0; spans.len()];
        while now < HOUR * S {
            // What holds until the next answer is what was known before it.
            let next = now + S;
            for tenth in 0..=10 {
                let at = now + S / 10 * tenth;
                let error = self.error(at).abs();
                for (worst, span) in worst.iter_mut().zip(spans) {
                    if span.contains(&(at / S)) {
                        *worst = error.max(*worst);
                    }
                }
            }
            now = self.ask(next);
        }
        worst.into_iter().map(|ns| ns as f64 / MS as f64).collect()
    }
}

fn drift(true_ns: i64, ppm: f64) -> i64 {
    filter::whole(true_ns as f64 * ppm * 1e-6)
}

#[test]
fn a_constant_drift_of_500_ppm_stays_within_5_ms_for_an_hour() {
    for seed in 0..40 {
        for ppm in [500.0, -500.0, 0.0] {
            let mut simulation = Simulation::new(seed, |at| 150 * MS + drift(at, ppm));
            let worst = simulation.whole_hour();
            assert!(worst < 5.0, "seed {seed}, {ppm} ppm: {worst} ms");
            let found = simulation.map.drift_ppm();
            assert!((found - ppm).abs() < 20.0, "seed {seed}: {found} ppm");
            assert!(simulation.map.error_ns() > 15_000_000, "a round trip takes 30 ms");
        }
    }
}

/// As with a temperature that rises and falls: from 500 ppm to -500 ppm and through 0 midway.
#[test]
fn a_drift_that_changes_its_sign_midway_stays_within_5_ms() {
    let pi_an_hour = std::f64::consts::PI / (HOUR as f64);
    for seed in 0..40 {
        // The integral of 500 ppm × cos(π t / 1 h).
        let ahead = |at: i64| {
            let seconds = at as f64 / 1e9;
            filter::whole(500e-6 / pi_an_hour * (seconds * pi_an_hour).sin() * 1e9) - 80 * MS
        };
        let worst = Simulation::new(seed, ahead).whole_hour();
        assert!(worst < 5.0, "seed {seed}: {worst} ms");
    }
}

/// From 500 ppm to -500 ppm from one moment to the next, which no clock does: what is known then is wrong by 1 ms a second, until
/// samples tell. Two windows later it is found.
#[test]
fn a_drift_that_jumps_is_found_within_windows() {
    for seed in 0..40 {
        let middle = HOUR / 2 * S;
        let ahead = |at: i64| drift(at.min(middle), 500.0) + drift((at - middle).max(0), -500.0);
        let half = HOUR / 2;
        let worst = Simulation::new(seed, ahead).hour(&[0..half, half..half + 60, half + 60..HOUR + 1]);
        assert!(worst[0] < 5.0 && worst[2] < 5.0, "seed {seed}: {worst:?} ms");
        assert!(worst[1] < 20.0, "seed {seed}: {worst:?} ms");
    }
}
