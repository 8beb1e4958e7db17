//! A start that is agreed on, and may be called off.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use reprise_contract::clock::ClockMap;
use reprise_contract::protocol::ClockSample;
use reprise_contract::{Ending, NotSentReason, Outcome};
use reprise_tests::plans::{as_recorded, burst, head, recorded_plan};
use reprise_worker::{Batch, Control, Pace, Plan, RequestNumbers, StopCause, calibrate, prepare};

use crate::mock;

fn outcomes(batches: &Receiver<Batch>) -> Vec<Outcome> {
    let mut outcomes: Vec<_> = batches.iter().flat_map(|batch| batch.outcomes).collect();
    outcomes.sort_by_key(|outcome| outcome.request);
    outcomes
}

fn in_a_moment() -> Instant {
    Instant::now() + Duration::from_millis(200)
}

#[test]
fn a_start_that_is_called_off_sends_nothing_and_can_be_made_again() {
    let endpoint = mock::start();
    let mut plan = recorded_plan(burst(6), &[endpoint.url()]);
    plan.threads = NonZeroUsize::new(2).unwrap();
    let (sender, batches) = sync_channel(64);
    let mut standby = prepare(plan, &Control::default(), &sender).unwrap();
    drop(sender);
    for _ in 0..3 {
        let running = standby.start(&Pace::steered(Instant::now() + Duration::from_hours(1), 0));
        assert_eq!(running.sent().get(), 0);
        standby = running.call_off().expect("T0 is an hour away");
    }
    let t0 = in_a_moment();
    let running = standby.start(&Pace::steered(t0, 0));
    let sent = running.sent();
    while sent.get() == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(Instant::now() >= t0, "nothing goes before T0");
    let running = running.call_off().expect_err("it is too late");
    running.join().unwrap();
    let outcomes = outcomes(&batches);
    assert_eq!(outcomes.len(), 6);
    assert!(outcomes.iter().all(|outcome| outcome.ending == Ending::Completed));
    assert_eq!((sent.get(), endpoint.summary().requests), (6, 6));
}

#[test]
fn whoever_is_dropped_before_the_start_sends_nothing_and_ends() {
    let endpoint = mock::start();
    let (sender, batches) = sync_channel(64);
    let plan = recorded_plan(burst(3), &[endpoint.url()]);
    let standby = prepare(plan, &Control::default(), &sender).unwrap();
    drop((sender, standby));
    assert_eq!(outcomes(&batches).len(), 0, "and the channel is closed");
    assert_eq!(endpoint.summary().requests, 0);
}

#[test]
fn a_stop_before_t0_leaves_every_request_with_its_reason() {
    let endpoint = mock::start();
    let (sender, batches) = sync_channel(64);
    let control = Control::default();
    let standby = prepare(recorded_plan(burst(3), &[endpoint.url()]), &control, &sender).unwrap();
    drop(sender);
    let running = standby.start(&Pace::steered(Instant::now() + Duration::from_hours(1), 0));
    control.stop(StopCause::DeadlinePassed);
    let replayed = running.join().unwrap();
    assert_eq!(replayed.stopped, Some(StopCause::DeadlinePassed));
    let endings: Vec<_> = outcomes(&batches).iter().map(|outcome| outcome.ending).collect();
    assert_eq!(endings, [Ending::NotSent(NotSentReason::DeadlinePassed); 3]);
    assert_eq!(endpoint.summary().requests, 0);
}

/// The manager's T0 turns out to be 300 ms later than the worker took it to be, which it learns before.
#[test]
fn stamps_are_local_and_what_is_due_follows_the_run() {
    let endpoint = mock::start();
    let mut plan = recorded_plan(burst(2), &[endpoint.url()]);
    plan.numbers = RequestNumbers::of_shard(vec![7, 9]);
    let (sender, batches) = sync_channel(64);
    let standby = prepare(plan, &Control::default(), &sender).unwrap();
    drop(sender);
    let pace = Pace::steered(in_a_moment(), 1_000);
    let mut map = ClockMap::default();
    map.add(ClockSample {
        local_ns: 1_000,
        manager_ns: 5_000,
        round_trip_ns: 2,
    });
    pace.steer(&map, 300_005_000);
    standby.start(&pace).join().unwrap();
    let outcomes = outcomes(&batches);
    let requests: Vec<_> = outcomes.iter().map(|outcome| outcome.request).collect();
    assert_eq!(requests, [7, 9], "as they are numbered in the whole plan");
    for outcome in &outcomes {
        let times = outcome.times;
        assert_eq!(
            (times.recorded, times.due),
            (Some(300_000_000), Some(300_000_000))
        );
        assert!(times.sent >= times.due, "{times:?}");
    }
}

#[test]
fn a_worker_can_tell_what_it_can_do() {
    let scratch = tempfile::tempdir().unwrap();
    let threads = NonZeroUsize::new(2).unwrap();
    let capacity = calibrate(threads, scratch.path()).unwrap();
    assert_eq!(capacity.threads, 2);
    assert!(
        capacity.requests_per_second > 1 && capacity.connections > 1,
        "{capacity:?}"
    );
}

#[test]
fn everything_that_is_wrong_with_a_plan_is_told_at_once() {
    let content = burst(2);
    let schedule = as_recorded(&content);
    let mut head = head(&content, &schedule, &["ftp://host", "http://host", "nowhere"]);
    head.headers = vec![
        ("x-good".to_owned(), "a".to_owned()),
        ("x bad".to_owned(), "b".to_owned()),
    ];
    let numbers = RequestNumbers::of_shard(vec![1, 2, 3]);
    let Err(error) = Plan::new(&head, content, schedule, numbers, NonZeroUsize::MIN) else {
        panic!("nothing of it can be used");
    };
    let text = error.to_string();
    assert_eq!(text.lines().count(), 4, "{text}");
    for part in ["ftp://host", "nowhere", "x bad", "numbers 3 requests"] {
        assert!(text.contains(part), "{text}");
    }
}
