use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::digest;
use crate::store::{Content, Origin, Writer};
use crate::turn::{Body, Turn};

const MS: i64 = 1_000_000;

/// (session, recorded ms, delay ms)
type Row = (u32, Option<i64>, Option<u64>);

fn content(rows: &[Row]) -> Content {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path()).unwrap();
    for (line, (session, recorded_ms, delay_ms)) in (1..).zip(rows) {
        let turn = Turn {
            session: *session,
            line,
            recorded_ns: recorded_ms.map(|ms| ms * MS),
            delay_ns: delay_ms.map(|ms| ms * MS.unsigned_abs()),
            input_tokens: None,
            output_tokens: None,
            request_id: None,
            headers: Vec::new(),
            is_constrained: false,
            body: Body::Messages {
                messages: Bytes::from_static(b"[]"),
                extra: None,
            },
        };
        writer.push(&turn).unwrap();
    }
    let origin = Origin {
        trace_digest: digest::of(b""),
        format: String::new(),
        options: BTreeMap::new(),
        corpus: String::new(),
        seed: 0,
    };
    writer.finish(origin).unwrap()
}

fn singles(recorded_ms: &[i64]) -> Content {
    let rows: Vec<Row> = (0..)
        .zip(recorded_ms)
        .map(|(session, ms)| (session, Some(*ms), None))
        .collect();
    content(&rows)
}

fn at_speed(speed: f64) -> Load {
    Load::Recorded {
        speed: Speed::new(speed).unwrap(),
        window: Window::default(),
    }
}

fn window(start_ms: u64, end_ms: Option<u64>) -> Load {
    let window = Window {
        start: Duration::from_millis(start_ms),
        end: end_ms.map(Duration::from_millis),
    };
    Load::Recorded {
        speed: Speed::new(1.0).unwrap(),
        window,
    }
}

fn rate(per_second: f64, process: Process) -> Load {
    Load::Rate(Arrivals::new(per_second, process).unwrap())
}

fn extent(warmup: u32, requests: Option<u32>) -> Extent {
    Extent {
        warmup,
        requests: requests.and_then(NonZeroU32::new),
    }
}

fn offsets(schedule: &Schedule) -> Vec<i64> {
    schedule
        .requests
        .iter()
        .map(|request| request.offset_ns.unwrap())
        .collect()
}

#[test]
fn times_are_rebased_to_the_earliest_record_and_sorted_stably() {
    let content = singles(&[1_700_000_000_500, 1_700_000_000_000, 1_700_000_000_500]);
    let schedule = build(&content, at_speed(1.0), Extent::default()).unwrap();
    assert_eq!(offsets(&schedule), [0, 500 * MS, 500 * MS]);
    let turns: Vec<_> = schedule.requests.iter().map(|request| request.turn).collect();
    assert_eq!(turns, [1, 0, 2], "equal times keep the order of the file");
}

#[test]
fn speed_shrinks_times_and_delays() {
    let content = content(&[(0, Some(0), None), (0, None, Some(100)), (1, Some(1_000), None)]);
    let schedule = build(&content, at_speed(2.0), Extent::default()).unwrap();
    assert_eq!(schedule.requests[1].delay_ns, 50 * MS.unsigned_abs());
    assert_eq!(schedule.requests[2].offset_ns, Some(500 * MS));
}

#[test]
fn a_speed_is_finite_and_above_zero() {
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Speed::new(speed), None);
        assert_eq!(Arrivals::new(speed, Process::Constant), None);
    }
}

#[test]
fn a_recorded_time_wins_over_a_delay() {
    let content = content(&[(0, Some(0), None), (0, Some(10), Some(900))]);
    let schedule = build(&content, at_speed(1.0), Extent::default()).unwrap();
    assert_eq!(
        (schedule.requests[1].offset_ns, schedule.requests[1].delay_ns),
        (Some(10 * MS), 0)
    );
}

#[test]
fn turns_of_a_session_keep_their_order_and_are_linked() {
    // The second turn of session 0 is recorded before the first: it still goes after it.
    let content = content(&[
        (0, Some(50), None),
        (1, Some(20), None),
        (0, Some(10), None),
        (0, None, Some(5)),
    ]);
    let schedule = build(&content, at_speed(1.0), Extent::default()).unwrap();
    let turns: Vec<_> = schedule
        .requests
        .iter()
        .map(|request| (request.turn, request.place, request.next))
        .collect();
    assert_eq!(
        turns,
        [(1, 0, None), (0, 0, Some(2)), (2, 1, Some(3)), (3, 2, None)]
    );
}

#[test]
fn a_window_takes_whole_sessions_by_their_first_turn_and_counts_the_rest() {
    let content = content(&[
        (0, Some(0), None),
        (1, Some(100), None),
        (1, Some(900), None),
        (2, Some(500), None),
    ]);
    let schedule = build(&content, window(100, Some(500)), Extent::default()).unwrap();
    assert_eq!(offsets(&schedule), [0, 800 * MS]);
    assert_eq!(
        schedule.left_out,
        LeftOut {
            outside_window: 2,
            beyond_requests: 0
        }
    );
}

#[test]
fn an_empty_window_says_what_there_is() {
    let error = build(&singles(&[5, 105]), window(200, None), Extent::default()).unwrap_err();
    assert_eq!(
        error,
        ScheduleError::EmptyWindow {
            last: Duration::from_millis(100)
        }
    );
}

#[test]
fn a_record_without_time_is_named() {
    let content = content(&[(0, Some(0), None), (1, None, None)]);
    assert_eq!(
        build(&content, at_speed(1.0), Extent::default()).unwrap_err(),
        ScheduleError::Untimed { line: 2 }
    );
}

#[test]
fn requests_count_measured_ones_and_warmup_comes_first() {
    let schedule = build(&singles(&[0, 1, 2, 3, 4]), at_speed(1.0), extent(2, Some(2))).unwrap();
    let warmups: Vec<_> = schedule
        .requests
        .iter()
        .map(|request| request.is_warmup)
        .collect();
    assert_eq!(warmups, [true, true, false, false]);
    assert_eq!(schedule.left_out.beyond_requests, 1);
}

#[test]
fn a_warmup_that_leaves_nothing_is_refused() {
    let error = build(&singles(&[0, 1]), at_speed(1.0), extent(2, None)).unwrap_err();
    assert_eq!(
        error,
        ScheduleError::OnlyWarmup {
            warmup: 2,
            requests: 2
        }
    );
}

#[test]
fn a_constant_rate_has_equal_gaps_that_do_not_drift() {
    let content = singles(&vec![0; 3_001]);
    let schedule = build(&content, rate(3.0, Process::Constant), Extent::default()).unwrap();
    assert_eq!(schedule.requests[3_000].offset_ns, Some(1_000_000 * MS));
    assert_eq!(schedule.requests[1].offset_ns, Some(333_333_333));
}

#[test]
fn poisson_arrivals_have_the_rate_and_the_spread_of_their_process() {
    let count: u32 = 20_000;
    let content = singles(&vec![0; count as usize]);
    let schedule = build(
        &content,
        rate(500.0, Process::Poisson { seed: 7 }),
        Extent::default(),
    )
    .unwrap();
    let gaps: Vec<f64> = offsets(&schedule)
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 / 2e6)
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.03, "mean gap {mean}");
    assert!((variance - 1.0).abs() < 0.1, "variance {variance}");
}

/// The arrivals are part of what the schedule hash promises across machines.
#[test]
fn hashes_are_fixed_and_tell_loads_apart() {
    let content = singles(&[0, 10, 20, 30]);
    let loads = [
        at_speed(1.0),
        at_speed(2.0),
        rate(5.0, Process::Constant),
        rate(5.0, Process::Poisson { seed: 7 }),
        rate(5.0, Process::Poisson { seed: 8 }),
        Load::Concurrency(NonZeroU32::MIN),
    ];
    let hashes: Vec<_> = loads
        .iter()
        .map(|load| {
            build(&content, *load, Extent::default())
                .unwrap()
                .hash()
                .to_string()
        })
        .collect();
    insta::assert_snapshot!(hashes.join("\n"));
    assert_eq!(
        hashes.iter().collect::<std::collections::HashSet<_>>().len(),
        loads.len()
    );
}

proptest! {
    #[test]
    fn every_record_is_scheduled_or_counted(
        rows in proptest::collection::vec((0..5u32, 0..1_000i64), 1..60),
        start in 0..1_000u64,
        limit in proptest::option::of(1..40u32),
    ) {
        // Number the sessions in the order in which they first appear, as formats do.
        let mut numbers = BTreeMap::new();
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(session, ms)| {
                let next = u32::try_from(numbers.len()).unwrap();
                (*numbers.entry(session).or_insert(next), Some(ms), None)
            })
            .collect();
        let content = content(&rows);
        if let Ok(schedule) = build(&content, window(start, None), extent(0, limit)) {
            let scheduled = u32::try_from(schedule.requests.len()).unwrap();
            prop_assert_eq!(scheduled + schedule.left_out.total(), content.len());
            for request in &schedule.requests {
                if let Some(next) = request.next {
                    prop_assert!(schedule.requests[next as usize].turn > request.turn);
                }
            }
        }
    }
}
