//! Outcomes reach the manager exactly once, whatever happens on the way.

use std::collections::BTreeMap;
use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use reprise_contract::protocol::{RefusalCode, path};
use reprise_contract::termination::Reason;

use crate::manager::{Manager, State};
use crate::plan::SmallPlan;
use crate::process::Worker;
use crate::target::Target;

/// Every request of the shard has one outcome, and batches came in order, each with the same bytes however often it came.
fn assert_exactly_once(state: &State, numbers: &[u32]) {
    let mut kept: Vec<_> = state.outcomes().map(|outcome| outcome.request).collect();
    kept.sort_unstable();
    assert_eq!(kept, numbers);
    assert!(
        (0..)
            .zip(&state.batches)
            .all(|(number, (head, _))| head.number == number)
    );
    let mut bytes = BTreeMap::<u64, Bytes>::new();
    for (number, arrived) in &state.arrived {
        let first = bytes.entry(*number).or_insert_with(|| arrived.clone());
        assert_eq!(first, arrived, "batch {number} changed");
    }
    assert!(state.arrived.is_sorted_by_key(|(number, _)| *number));
}

#[test]
fn a_manager_that_is_unreachable_for_a_while_gets_everything_later() {
    let target = Target::start(Duration::ZERO);
    let plan = SmallPlan::new(150, 20, target.url());
    let numbers = plan.numbers.clone();
    let manager = Manager::start(plan);
    let mut worker = Worker::start(&manager);
    manager.wait_until("the first batch comes", |state| !state.batches.is_empty());
    manager.change(|state| state.is_unreachable = true);
    let before = target.count();
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(target.count() > before, "the replay goes on without the manager");
    manager.change(|state| state.is_unreachable = false);
    assert_eq!(worker.exit_code(), 0);
    assert_exactly_once(&manager.state(), &numbers);
    assert_eq!(target.count(), 150);
}

#[test]
fn batches_whose_answer_is_lost_or_that_are_refused_come_again_unchanged() {
    let target = Target::start(Duration::ZERO);
    let plan = SmallPlan::new(80, 20, target.url());
    let numbers = plan.numbers.clone();
    let manager = Manager::with(plan, |state| {
        state.deliveries = [
            None,
            Some((StatusCode::CONFLICT, RefusalCode::OutOfOrder)),
            Some((StatusCode::SERVICE_UNAVAILABLE, RefusalCode::NotNow)),
            Some((StatusCode::INSUFFICIENT_STORAGE, RefusalCode::NoRoom)),
            None,
        ]
        .into();
    });
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    let state = manager.state();
    assert!(state.deliveries.is_empty());
    assert!(state.arrived.len() >= state.batches.len() + 5);
    assert_exactly_once(&state, &numbers);
}

#[test]
fn heartbeats_come_without_outcomes() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(SmallPlan::new(2, 2_500, target.url()));
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    let state = manager.state();
    let beats = state
        .batches
        .iter()
        .filter(|(_, outcomes)| outcomes.is_empty())
        .count();
    assert!(beats >= 2, "{beats}");
    let clocks = state
        .batches
        .iter()
        .filter(|(head, _)| !head.clock.is_empty())
        .count();
    assert!(clocks >= 2, "the clock is followed during the run");
}

#[test]
fn a_batch_that_the_manager_cannot_read_ends_the_worker() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(SmallPlan::new(80, 50, target.url()), |state| {
        state.deliveries = [Some((StatusCode::BAD_REQUEST, RefusalCode::Malformed))].into();
    });
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 1);
    assert_eq!(worker.last_words().reason, Reason::Internal);
    assert!(target.count() < 80, "it stops sending");
}

#[test]
fn a_manager_that_stays_unreachable_ends_the_worker() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(SmallPlan::new(400, 50, target.url()));
    let mut worker = Worker::with(&manager, &[("REPRISE_MANAGER_TIMEOUT", "1s")]);
    manager.wait_until("the first batch comes", |state| !state.batches.is_empty());
    manager.change(|state| state.is_unreachable = true);
    assert_eq!(worker.exit_code(), 3);
    assert_eq!(worker.last_words().reason, Reason::ManagerGone);
    let sent = target.count();
    assert!(sent < 400);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(target.count(), sent, "nothing is sent any more");
    assert!(manager.state().calls(path::OUTCOMES) >= 1);
}
