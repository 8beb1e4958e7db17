//! When requests go.

use std::num::NonZeroU32;

use reprise_content::schedule::{Arrivals, Extent, Load, Process, Schedule, Speed, Window, build};
use reprise_contract::Phase;
use reprise_dataset::Format;
use reprise_tests::plans::{STREAMED, as_recorded, at, at_concurrency, burst, content, plan, recorded_plan};
use reprise_tests::runs::replay;

use crate::mock;

fn offsets(schedule: &Schedule) -> Vec<i64> {
    schedule
        .requests
        .iter()
        .map(|request| request.offset_ns.unwrap())
        .collect()
}

/// Targets are computed from one anchor, so none drifts: neither over a minute nor over days.
#[test]
fn recorded_offsets_are_exact_to_the_nanosecond_however_long_the_trace() {
    let every = |ns: i64, records: i64| {
        let line = |index: i64| {
            let ns = 1_700_000_000_000_000_000 + index * ns;
            format!(
                r#"{{"timestamp":{}.{:09},"body":{{}}}}"#,
                ns / 1_000_000_000,
                ns % 1_000_000_000
            )
        };
        let lines: Vec<_> = (0..records).map(line).collect();
        let expected: Vec<_> = (0..records).map(|index| index * ns).collect();
        (
            offsets(&as_recorded(&content(Format::WorkloadTrace, &lines))),
            expected,
        )
    };
    let (minute, expected) = every(10_000_000, 6_000);
    assert_eq!(minute, expected);
    assert_eq!(minute.last(), Some(&59_990_000_000));
    let (days, expected) = every(9_876_543_211, 50_000);
    assert_eq!(days, expected);
}

/// Neither 7 a second nor 0.3 a second has a gap that a float can hold.
#[test]
fn a_constant_rate_does_not_drift() {
    let content = content(Format::WorkloadTrace, &vec![at(0.0, "{}"); 100_000]);
    for (per_second, tenths) in [(7.0, 70i64), (0.3, 3)] {
        let arrivals = Arrivals::new(per_second, Process::Constant).unwrap();
        let schedule = build(&content, Load::Rate(arrivals), Extent::default()).unwrap();
        for (index, offset) in (0..).zip(offsets(&schedule)) {
            let exact = index * 10_000_000_000 / tenths;
            assert!(
                (offset - exact).abs() <= 1_000,
                "{index}: {offset} instead of {exact}"
            );
        }
    }
}

#[test]
fn speed_does_not_drift_either() {
    let lines: Vec<_> = (0..50_000)
        .map(|index| format!(r#"{{"timestamp":{},"body":{{}}}}"#, index * 7))
        .collect();
    let load = Load::Recorded {
        speed: Speed::new(3.0).unwrap(),
        window: Window::default(),
    };
    let schedule = build(&content(Format::WorkloadTrace, &lines), load, Extent::default()).unwrap();
    for (index, offset) in (0..).zip(offsets(&schedule)) {
        let exact = index * 7_000_000_000 / 3;
        assert!(
            (offset - exact).abs() <= 1_000,
            "{index}: {offset} instead of {exact}"
        );
    }
}

/// Each request is due at its own offset, whatever became of those before it.
#[test]
fn lateness_is_not_handed_on() {
    let endpoint = mock::start_slow("5ms", "0");
    let lines: Vec<_> = (0..300)
        .map(|index| {
            format!(
                r#"{{"timestamp":{},"input_length":30,"output_length":1}}"#,
                index * 2
            )
        })
        .collect();
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    for (index, outcome) in (0..).zip(&run.outcomes) {
        let offset = Some(index * 2_000_000);
        assert_eq!((outcome.times.recorded, outcome.times.due), (offset, offset));
    }
}

#[test]
fn epoch_stamps_are_rebased_to_the_earliest() {
    let endpoint = mock::start();
    for lines in [
        [1.7e9, 1.7e9 + 0.05].map(|time| at(time, STREAMED)),
        [5_000.0, 5_000.05].map(|time| at(time, STREAMED)),
        [5_000.05, 5_000.0].map(|time| at(time, STREAMED)),
        ["2023-11-14T22:13:20Z", "2023-11-14T22:13:20.05Z"]
            .map(|time| format!(r#"{{"timestamp":"{time}","body":{STREAMED}}}"#)),
    ] {
        let run = replay(recorded_plan(
            content(Format::WorkloadTrace, &lines),
            &[endpoint.url()],
        ));
        run.assert_all_completed();
        let due: Vec<_> = run
            .outcomes
            .iter()
            .map(|outcome| outcome.times.due.unwrap())
            .collect();
        assert_eq!(due, [0, 50_000_000]);
    }
}

/// As a published trace has them. They go in the order of the file.
#[test]
fn equal_stamps_all_arrive_in_the_order_of_the_file() {
    let endpoint = mock::start();
    let lines: Vec<_> = (0..28)
        .map(|index| {
            at(
                27_482.0,
                &format!(r#"{{"messages":[],"stream":true,"user":"{index:02}"}}"#),
            )
        })
        .collect();
    let run = replay(recorded_plan(
        content(Format::WorkloadTrace, &lines),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    assert!(run.outcomes.iter().all(|outcome| outcome.times.due == Some(0)));
    assert!(
        run.outcomes.is_sorted_by_key(|outcome| outcome.times.sent),
        "{:?}",
        run.outcomes
    );
    let mut users: Vec<_> = mock::bodies(&endpoint)
        .iter()
        .map(|body| body["user"].to_string())
        .collect();
    users.sort();
    assert_eq!(
        users,
        (0..28).map(|index| format!("\"{index:02}\"")).collect::<Vec<_>>()
    );
}

#[test]
fn nothing_goes_before_its_time() {
    let endpoint = mock::start();
    let lines = [0.0, 0.12, 0.12, 0.31].map(|time| at(time, STREAMED));
    let run = replay(recorded_plan(
        content(Format::WorkloadTrace, &lines),
        &[endpoint.url()],
    ));
    run.assert_all_completed();
    let arrivals = mock::arrivals(&endpoint);
    // By the server's clock, counted from the first arrival, which may itself have been late.
    let first_lag = run.outcomes[0].lag_ns().unwrap();
    let after: Vec<_> = arrivals
        .iter()
        .map(|arrival| (arrival.arrival_ns - arrivals[0].arrival_ns).cast_signed())
        .collect();
    for (after, offset) in after.into_iter().zip([0, 120_000_000, 120_000_000, 310_000_000]) {
        // The first request may have been on its way for longer than the others.
        assert!(
            after + first_lag + 50_000_000 >= offset,
            "{after} {first_lag} {offset}"
        );
    }
}

#[test]
fn a_closed_loop_starts_at_t0() {
    let endpoint = mock::start();
    let content = burst(4);
    let schedule = at_concurrency(&content, 4);
    let run = replay(plan(content, schedule, &[endpoint.url()]));
    run.assert_all_completed();
    assert!(
        run.outcomes.iter().all(|outcome| outcome.times.sent >= Some(0)),
        "{:?}",
        run.outcomes
    );
}

#[test]
fn warmup_goes_on_the_same_schedule_and_is_marked() {
    let endpoint = mock::start();
    let content = content(
        Format::WorkloadTrace,
        &[0.0, 0.01, 0.02, 0.03].map(|time| at(time, STREAMED)),
    );
    let load = Load::Recorded {
        speed: Speed::new(1.0).unwrap(),
        window: Window::default(),
    };
    let extent = Extent {
        warmup: 2,
        requests: NonZeroU32::new(1),
    };
    let schedule = build(&content, load, extent).unwrap();
    assert_eq!(schedule.left_out.beyond_requests, 1);
    let run = replay(plan(content, schedule, &[endpoint.url()]));
    run.assert_all_completed();
    let phases: Vec<_> = run
        .outcomes
        .iter()
        .map(|outcome| (outcome.phase, outcome.times.due))
        .collect();
    assert_eq!(
        phases,
        [
            (Phase::Warmup, Some(0)),
            (Phase::Warmup, Some(10_000_000)),
            (Phase::Measured, Some(20_000_000))
        ]
    );
    assert_eq!(run.gaps.count(), u64::from(run.outcomes[2].gaps.count));
}

#[test]
fn a_rate_sends_in_the_order_of_the_trace() {
    let endpoint = mock::start();
    let lines: Vec<_> = (0..40)
        .map(|index| at(f64::from(index) * 1_000.0, STREAMED))
        .collect();
    let content = content(Format::WorkloadTrace, &lines);
    let arrivals = Arrivals::new(400.0, Process::Poisson { seed: 1 }).unwrap();
    let schedule = build(&content, Load::Rate(arrivals), Extent::default()).unwrap();
    let run = replay(plan(content, schedule, &[endpoint.url()]));
    run.assert_all_completed();
    assert!(run.outcomes.is_sorted_by_key(|outcome| outcome.times.due));
    assert!(
        run.outcomes
            .iter()
            .all(|outcome| outcome.times.due == outcome.times.recorded)
    );
}
