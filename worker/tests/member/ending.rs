//! Stopping, being replaced, signals, and a manager that is another one.

use std::time::Duration;

use ::http::StatusCode;
use reprise_contract::outcome::{Ending, NotSentReason};
use reprise_contract::protocol::{RefusalCode, Release, Stop, path};
use reprise_contract::termination::Reason;

use crate::manager::{Manager, life};
use crate::plan::SmallPlan;
use crate::process::Worker;
use crate::target::Target;

/// A worker with a shard of 400 requests in 20 s, and a first batch delivered.
fn running(target: &Target, script: impl FnOnce(&mut crate::manager::State)) -> (Manager, Worker) {
    let manager = Manager::with(SmallPlan::new(400, 50, target.url()), script);
    let worker = Worker::start(&manager);
    manager.wait_until("the first batch comes", |state| !state.batches.is_empty());
    (manager, worker)
}

#[test]
fn a_stop_ends_sending_and_every_request_has_its_outcome() {
    for (stop, reason) in [
        (Stop::Cancelled, NotSentReason::RunCancelled),
        (Stop::DeadlinePassed, NotSentReason::DeadlinePassed),
    ] {
        let target = Target::start(Duration::ZERO);
        let (manager, mut worker) = running(&target, |_| {});
        manager.stop(stop);
        assert_eq!(worker.exit_code(), 0);
        let state = manager.state();
        assert_eq!(state.outcomes().count(), 400);
        let not_sent = state
            .outcomes()
            .filter(|outcome| outcome.ending == Ending::NotSent(reason))
            .count();
        assert!(not_sent > 300, "{not_sent}");
        assert!(target.count() <= 400 - not_sent);
        let (last, _) = state.batches.last().unwrap();
        assert_eq!(last.stopped, None, "the manager knows who stopped it");
    }
}

#[test]
fn another_life_of_the_manager_ends_the_worker() {
    let target = Target::start(Duration::ZERO);
    let (manager, mut worker) = running(&target, |_| {});
    manager.change(|state| state.life = life("manager-2"));
    assert_eq!(worker.exit_code(), 3);
    let words = worker.last_words();
    assert_eq!(words.reason, Reason::ManagerGone);
    assert!(words.message.contains("manager-2"), "{}", words.message);
    assert!(target.count() < 400);
}

#[test]
fn a_worker_that_was_replaced_ends() {
    let target = Target::start(Duration::ZERO);
    let (manager, mut worker) = running(&target, |_| {});
    manager.change(|state| {
        state.deliveries = [Some((StatusCode::CONFLICT, RefusalCode::Replaced))].into();
    });
    assert_eq!(worker.exit_code(), 1);
    assert_eq!(worker.last_words().reason, Reason::Replaced);
    assert!(target.count() < 400);
}

#[test]
fn a_shard_that_counts_as_lost_sends_the_worker_home() {
    let target = Target::start(Duration::ZERO);
    let (manager, mut worker) = running(&target, |_| {});
    manager.release(Release::ShardLost);
    assert_eq!(worker.exit_code(), 0);
    assert!(target.count() < 400);
}

#[test]
fn a_signal_stops_sending_and_delivers_what_was_measured() {
    let target = Target::start(Duration::ZERO);
    let (manager, mut worker) = running(&target, |state| state.releases = false);
    worker.terminate();
    assert_eq!(worker.exit_code(), 4);
    let words = worker.last_words();
    assert_eq!(words.reason, Reason::Terminated);
    assert!(words.message.contains("all of it"), "{}", words.message);
    let state = manager.state();
    assert_eq!(state.outcomes().count(), 400, "those that were not sent as well");
    let sent = state.outcomes().filter(|outcome| outcome.was_sent()).count();
    assert_eq!(sent, target.count());
    let with_it = Ending::NotSent(NotSentReason::WorkerLost);
    let not_sent = state
        .outcomes()
        .filter(|outcome| outcome.ending == with_it)
        .count();
    assert!(not_sent > 300 && sent + not_sent <= 400, "{sent} and {not_sent}");
    let (last, _) = state.batches.last().unwrap();
    assert!(last.is_last && last.is_leaving);
    assert_eq!(last.stopped, None, "the run may go on without it");
}

#[test]
fn a_signal_without_a_manager_ends_with_the_grace_period() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(SmallPlan::new(400, 50, target.url()));
    let mut worker = Worker::with(&manager, &[("REPRISE_GRACE", "1s")]);
    manager.wait_until("the first batch comes", |state| !state.batches.is_empty());
    manager.change(|state| state.is_unreachable = true);
    worker.terminate();
    assert_eq!(worker.exit_code(), 4);
    let message = worker.last_words().message;
    assert!(message.contains("all but"), "{message}");
}

#[test]
fn it_waits_to_be_released_however_long_that_takes() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(SmallPlan::new(4, 10, target.url()), |state| {
        state.releases = false;
    });
    let mut worker = Worker::start(&manager);
    manager.wait_until("the last batch comes", |state| {
        state.batches.last().is_some_and(|(head, _)| head.is_last)
    });
    let polls = manager.state().calls(path::CONTROL);
    manager.wait_until("it asks what to do again", |state| {
        state.calls(path::CONTROL) > polls
    });
    manager.release(Release::RunOver);
    assert_eq!(worker.exit_code(), 0);
}
