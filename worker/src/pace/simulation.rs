//! A worker whose clock drifts, steered by what it learns of the manager's clock over a network that delays.

use reprise_contract::protocol::ClockSample;

use super::*;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;
const HOUR_S: i64 = 3_600;
/// T0 on the manager's clock, which shows the true time.
const T0: i64 = 20 * S;

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

/// A clock that is ahead of the true time by `offset_ns`, and gets ahead by `ppm` more.
#[derive(Clone, Copy)]
struct Drifting {
    offset_ns: i64,
    ppm: f64,
}

impl Drifting {
    fn local_ns(self, true_ns: i64) -> i64 {
        true_ns + self.offset_ns + line::rounded(true_ns as f64 * self.ppm * 1e-6)
    }

    fn true_ns(self, local_ns: i64) -> i64 {
        let since = (local_ns - self.offset_ns) as f64;
        let rate = self.ppm * 1e-6;
        local_ns - self.offset_ns - line::rounded(since * (rate / (1.0 + rate)))
    }
}

fn ask(clock: Drifting, chance: &mut Chance, map: &mut ClockMap, true_ns: i64) -> i64 {
    let answered = true_ns + chance.delay();
    let heard = answered + chance.delay();
    let (before, after) = (clock.local_ns(true_ns), clock.local_ns(heard));
    map.add(ClockSample {
        local_ns: before + (after - before) / 2,
        manager_ns: answered,
        round_trip_ns: (after - before).unsigned_abs(),
    });
    heard
}

fn wait(map: &ClockMap) -> i64 {
    i64::try_from(map.next_look().as_nanos()).unwrap()
}

/// The greatest error, in nanoseconds of true time, of any due time of an hour whose requests are due every 100 ms.
fn worst_error_of_an_hour(clock: Drifting, seed: u64) -> i64 {
    let (mut chance, mut map) = (Chance(seed), ClockMap::default());
    // The worker joins, learns the clock, and understands T0 4 s before it.
    let mut now = T0 - 5 * S;
    for _ in 0..16 {
        now = ask(clock, &mut chance, &mut map, now);
    }
    let t0_local_ns = map.to_local_ns(T0);
    let pace = Pace::steered(Instant::now(), t0_local_ns);
    let steering = pace.steering.as_ref().unwrap();
    let reader = pace.reader();
    let (mut worst, mut due_ns) = (0, 0);
    while now < T0 + HOUR_S * S {
        let next = now + wait(&map);
        now = ask(clock, &mut chance, &mut map, next);
        steering.steer(clock.local_ns(now) - t0_local_ns, &map, T0);
        // What is due before the next look at the clock goes by what was known at this one.
        let known_until = clock.local_ns(now + wait(&map) + 30 * MS) - t0_local_ns;
        while reader.local_ns(due_ns) < known_until {
            let goes_at = clock.true_ns(reader.local_ns(due_ns) + t0_local_ns);
            worst = (goes_at - T0 - due_ns).abs().max(worst);
            due_ns += S / 10;
        }
    }
    assert!(due_ns >= HOUR_S * S, "all of the hour was looked at");
    worst
}

#[test]
fn every_request_of_an_hour_goes_within_5_ms_of_true_time_whatever_the_clock() {
    for seed in 0..30 {
        for (offset_ns, ppm) in [(150 * MS, 500.0), (-80 * MS, -500.0), (0, 0.0)] {
            let worst = worst_error_of_an_hour(Drifting { offset_ns, ppm }, seed);
            assert!(worst < 5 * MS, "seed {seed}, {ppm} ppm: {} us", worst / 1_000);
        }
    }
}

#[test]
fn the_pace_of_one_process_is_the_identity_and_cannot_be_steered() {
    let pace = Pace::of_one_process(Instant::now());
    let mut map = ClockMap::default();
    map.add(ClockSample {
        local_ns: 0,
        manager_ns: S,
        round_trip_ns: 10,
    });
    pace.steer(&map, 0);
    let reader = pace.reader();
    assert_eq!((reader.local_ns(7), reader.run_ns(7)), (7, 7));
    assert_eq!(reader.look_again_ns(S, S), S, "one sleep is enough");
}

#[test]
fn a_reader_sees_that_it_was_steered_and_long_waits_look_again() {
    let pace = Pace::steered(Instant::now(), 5 * S);
    let reader = pace.reader();
    assert_eq!(reader.run_ns(0), 0);
    let mut map = ClockMap::default();
    map.add(ClockSample {
        local_ns: 5 * S,
        manager_ns: 9 * S,
        round_trip_ns: 10,
    });
    // T0 of the manager is 2 ms after the worker took it to be, which is told before it.
    pace.steering.as_ref().unwrap().steer(-S, &map, 9 * S + 2 * MS);
    assert_eq!((reader.local_ns(0), reader.run_ns(0)), (2 * MS, -2 * MS));
    assert_eq!(reader.look_again_ns(10 * S, 8 * S), 6 * S);
    assert_eq!(reader.look_again_ns(10 * S, 20 * MS), 10 * S);
}
