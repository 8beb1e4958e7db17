//! Agreeing on T0.

use std::time::Duration;

use reprise_contract::protocol::{Confirmed, Release, path};
use reprise_contract::termination::Reason;

use crate::manager::{Manager, Scripted};
use crate::plan::SmallPlan;
use crate::process::Worker;
use crate::target::Target;

fn small(target: &Target) -> SmallPlan {
    SmallPlan::new(4, 10, target.url())
}

#[test]
fn a_proposal_that_moved_is_left_for_the_next() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| {
        state.confirmations = [Scripted::Answer(Confirmed::Moved)].into();
    });
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(manager.state().calls(path::READY), 2);
    assert_eq!(target.count(), 4);
}

#[test]
fn without_an_answer_in_time_nothing_is_sent_and_it_asks_again() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| state.withholds_go = true);
    let mut worker = Worker::start(&manager);
    manager.wait_until("it asks again", |state| state.calls(path::READY) == 2);
    assert_eq!(target.count(), 0);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(target.count(), 4);
}

#[test]
fn a_start_that_is_called_off_before_t0_sends_nothing_and_the_next_one_everything() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(small(&target));
    let mut worker = Worker::start(&manager);
    manager.wait_until("it confirms", |state| state.calls(path::ARMED) == 1);
    let first_t0_ns = manager.state().t0_ns;
    manager.call_off();
    manager.wait_until("it asks again", |state| state.calls(path::READY) == 2);
    assert_eq!(target.count(), 0);
    assert_eq!(worker.exit_code(), 0);
    let state = manager.state();
    assert!(state.t0_ns > first_t0_ns);
    assert_eq!(state.outcomes().count(), 4);
    assert_eq!(target.count(), 4);
}

#[test]
fn a_run_that_fails_before_t0_sends_it_home_and_nothing_to_the_target() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(small(&target));
    let mut worker = Worker::start(&manager);
    manager.wait_until("it confirms", |state| state.calls(path::ARMED) == 1);
    manager.release(Release::RunFailed);
    assert_eq!(worker.exit_code(), 0);
    let words = worker.last_words();
    assert_eq!(words.reason, Reason::Released);
    assert!(words.message.contains("nothing was sent"), "{}", words.message);
    assert_eq!(target.count(), 0);
    assert_eq!(manager.state().batches.len(), 0);
}

#[test]
fn a_signal_before_t0_ends_it_with_nothing_sent() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(small(&target));
    let mut worker = Worker::start(&manager);
    manager.wait_until("it confirms", |state| state.calls(path::ARMED) == 1);
    worker.terminate();
    assert_eq!(worker.exit_code(), 4);
    assert_eq!(target.count(), 0);
}
