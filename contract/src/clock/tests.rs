use proptest::prelude::*;

use super::*;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

fn sample(local_ns: i64, ahead_ns: i64, round_trip_ms: i64) -> ClockSample {
    ClockSample {
        local_ns,
        manager_ns: local_ns + ahead_ns,
        round_trip_ns: (round_trip_ms * MS).unsigned_abs(),
    }
}

fn map_of(samples: impl IntoIterator<Item = ClockSample>) -> ClockMap {
    let mut map = ClockMap::default();
    samples.into_iter().for_each(|sample| map.add(sample));
    map
}

#[test]
fn nothing_known_maps_to_the_same_and_claims_nothing() {
    let map = ClockMap::default();
    assert!(!map.is_known());
    assert_eq!(
        (map.to_manager_ns(5), map.to_local_ns(5), map.error_ns()),
        (5, 5, 0)
    );
}

#[test]
fn a_single_sample_gives_an_offset_without_drift() {
    let map = map_of([sample(S, 7 * MS, 2)]);
    assert!(map.is_known());
    assert_eq!(map.to_manager_ns(100 * S), 100 * S + 7 * MS);
    assert_eq!(map.to_local_ns(100 * S + 7 * MS), 100 * S);
    assert_eq!(map.error_ns(), MS.unsigned_abs());
}

#[test]
fn the_shortest_round_trip_wins() {
    let slow_first = map_of([sample(0, 30 * MS, 80), sample(S, 10 * MS, 2)]);
    let slow_last = map_of([sample(0, 10 * MS, 2), sample(S, 30 * MS, 80)]);
    for map in [slow_first, slow_last] {
        assert_eq!(map.to_manager_ns(S), S + 10 * MS);
        assert!(map.error_ns() < 2_000_000, "{}", map.error_ns());
    }
}

/// For ten minutes every round trip stalls for 4 s on its way back: what was known before holds.
#[test]
fn a_burst_of_stalled_round_trips_changes_nothing() {
    let good = |second: i64| sample(second * S, 10 * MS, 2);
    let stalled = |second: i64| sample(second * S, 10 * MS - 2 * S, 4_000);
    let map = map_of(
        (0..300)
            .map(good)
            .chain((300..900).map(stalled))
            .chain((900..1_200).map(good)),
    );
    for second in [0, 299, 600, 899, 900, 1_199, 5_000] {
        let error = map.to_manager_ns(second * S) - second * S - 10 * MS;
        assert!(error.abs() < MS / 10, "at {second} s: {error} ns");
    }
    assert!(map.error_ns() < 50_000_000, "{}", map.error_ns());
}

/// What was heard first is given up for what is known better a moment later.
#[test]
fn bad_samples_at_first_do_not_stay() {
    let bad = (0..5).map(|window| sample(window * 2 * S, -S, 3_000));
    let good = (5..30).map(|window| sample(window * 2 * S, 10 * MS, 2));
    let map = map_of(bad.chain(good));
    assert!(map.error_ns() < 3_000_000, "{}", map.error_ns());
    assert!((map.to_manager_ns(0) - 10 * MS).abs() < MS);
}

/// A network that is slow from some moment on is believed in the end, as nothing better comes.
#[test]
fn a_way_that_stays_longer_is_used_after_a_while() {
    let near = (0..100).map(|second| sample(second * S, 0, 2));
    let far = (100..4_000).map(|second| sample(second * S, 3 * MS, 200));
    let map = map_of(near.chain(far));
    assert!(map.points.last().unwrap().local_ns() > 3_900 * S);
    assert!(
        (100_000_000..120_000_000).contains(&map.error_ns()),
        "{}",
        map.error_ns()
    );
}

#[test]
fn duplicates_and_what_comes_after_its_time_change_nothing() {
    let samples: Vec<_> = (0..200)
        .map(|second| sample(second * S, second * 50_000, 2))
        .collect();
    let once = map_of(samples.clone());
    let twice = map_of(samples.iter().flat_map(|sample| [*sample, *sample]));
    let again = map_of(samples.iter().chain(&samples[..150]).copied());
    for at in [-5 * S, 0, 77 * S, 199 * S, 900 * S] {
        assert_eq!(twice.to_manager_ns(at), once.to_manager_ns(at));
        assert_eq!(again.to_manager_ns(at), once.to_manager_ns(at));
    }
    assert!((once.drift_ppm() + 50.0).abs() < 1.0, "{}", once.drift_ppm());
}

#[test]
fn looks_become_rarer_as_the_clock_is_known() {
    let after = |looks: i64| map_of((0..looks).map(|second| sample(second * S, 0, 2))).next_look();
    let ms = Duration::from_millis;
    assert_eq!(
        [0, 15, 16, 95, 96, 9_999].map(after),
        [ms(0), ms(0), ms(250), ms(250), ms(1_000), ms(1_000)]
    );
}

#[test]
fn memory_is_a_point_a_window() {
    let map = map_of((0..86_400).map(|second| sample(second * S, second % 3 * MS, 10)));
    assert!(map.points.len() < 8_700, "{}", map.points.len());
}

proptest! {
    /// Whatever is heard, however wrong: both directions ascend and agree.
    #[test]
    fn the_map_ascends_and_can_be_inverted(
        samples in prop::collection::vec((0..2_000 * S, -S..S, 0..3_000i64), 1..60),
        asked in prop::collection::vec(-100 * S..3_000 * S, 2..40),
    ) {
        let map = map_of(samples.into_iter().map(|(local, ahead, trip)| sample(local, ahead, trip)));
        let mut asked = asked;
        asked.sort_unstable();
        let mapped: Vec<_> = asked.iter().map(|local| map.to_manager_ns(*local)).collect();
        prop_assert!(mapped.is_sorted());
        for (local, manager) in asked.iter().zip(&mapped) {
            prop_assert!((map.to_local_ns(*manager) - local).abs() <= 2);
        }
    }

    /// The truth is within the error that is claimed, when the clocks run alike and answers come from anywhere in their round trip.
    #[test]
    fn the_truth_is_within_the_claimed_error(
        trips in prop::collection::vec((1..100i64, 0..=100i64), 1..200),
    ) {
        // The true difference is 0; an answer given late in its round trip makes the manager's clock look fast.
        let samples = (0..).zip(trips).map(|(second, (trip, share))| {
            sample(second * S, trip * MS / 2 - trip * MS * share / 100, trip)
        });
        let map = map_of(samples);
        let limit = i64::try_from(map.error_ns()).unwrap();
        for point in &map.points {
            let error = map.to_manager_ns(point.local_ns()) - point.local_ns();
            prop_assert!(error.abs() <= limit, "{error} of {limit}");
        }
    }

    /// Numbers that no clock shows are borne.
    #[test]
    fn no_sample_is_too_strange(
        samples in prop::collection::vec((any::<i64>(), any::<i64>(), any::<u64>()), 1..20),
        at in any::<i64>(),
    ) {
        let map = map_of(samples.into_iter().map(|(local_ns, manager_ns, round_trip_ns)| ClockSample {
            local_ns,
            manager_ns,
            round_trip_ns,
        }));
        let _ = (map.to_manager_ns(at), map.to_local_ns(at), map.error_ns());
        prop_assert!(map.drift_ppm().abs() < 2_000.0);
    }
}
