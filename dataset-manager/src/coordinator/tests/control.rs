//! Stopping, deadlines, going home.

use reprise_contract::protocol::Release;

use super::*;

#[test]
fn cancelled_before_t0_nothing_is_sent() {
    for mut run in [Run::without_plan(Rules::default()), Run::of(1), Run::armed(1)] {
        run.coordinator.stop(run.now, Stop::Cancelled);
        assert_eq!(run.coordinator.failure(), Some(&Failure::Cancelled));
        assert_eq!(run.join(0, "z"), Ok(JoinAnswer::Released(Release::RunFailed)));
    }
}

#[test]
fn armed_workers_are_told_to_stand_down_when_it_is_cancelled() {
    let mut run = Run::armed(1);
    run.coordinator.stop(run.now, Stop::Cancelled);
    let directive = run.directive(0);
    assert_eq!(
        (directive.epoch, directive.release),
        (2, Some(Release::RunFailed))
    );
    assert_eq!(directive.stop, Some(Stop::Cancelled));
}

#[test]
fn cancelled_after_t0_all_stop_and_what_was_measured_counts() {
    let mut run = Run::replaying(2);
    run.coordinator.stop(run.now, Stop::Cancelled);
    // The first cause stays.
    run.coordinator.stop(run.now, aborted("later"));
    for index in 0..2 {
        assert_eq!(run.directive(index).stop, Some(Stop::Cancelled));
        run.deliver(index, "a", REQUESTS, true).unwrap();
    }
    assert!(run.coordinator.is_over());
    assert_eq!(run.coordinator.message().unwrap(), "The run was cancelled.");
}

#[test]
fn shortly_before_t0_it_is_too_late_for_nothing_and_early_enough_to_stop() {
    let mut run = Run::armed(1);
    run.pass(4 * SECOND - 1);
    run.coordinator.stop(run.now, Stop::Cancelled);
    assert_eq!(run.coordinator.failure(), None);
    assert_eq!(run.directive(0).stop, Some(Stop::Cancelled));
    run.pass(1);
    assert_eq!(run.coordinator.stage(), Some(Stage::Replaying));
}

#[test]
fn a_deadline_can_be_moved_until_it_has_passed() {
    let mut run = Run::replaying(1);
    let (first, second) = (run.now + 10 * SECOND, run.now + 20 * SECOND);
    run.coordinator.set_deadline(run.now, Some(first));
    run.pass(10 * SECOND - 1);
    run.coordinator.set_deadline(run.now, Some(second));
    run.pass(10 * SECOND);
    assert_eq!(run.directive(0).stop, None);
    run.pass(1);
    assert_eq!(run.directive(0).stop, Some(Stop::DeadlinePassed));
}

#[test]
fn a_deadline_before_t0_fails_the_run() {
    let mut run = Run::of(1);
    run.coordinator.set_deadline(run.now, Some(run.now));
    assert_eq!(run.coordinator.failure(), Some(&Failure::DeadlinePassed));
}

#[test]
fn a_worker_that_stops_by_itself_stops_all() {
    let mut run = Run::replaying(2);
    let mut head = head_of("a", 0);
    head.stopped = Some(aborted("a request was 80 ms late"));
    run.store(0, &head, 0).unwrap();
    assert_eq!(
        run.directive(1).stop,
        Some(aborted("Worker 0: a request was 80 ms late"))
    );
}

#[test]
fn a_directive_is_told_once() {
    let mut run = Run::replaying(1);
    let control = |run: &mut Run, seen| run.coordinator.control(run.now, 0, &life("a"), seen);
    let first = control(&mut run, 0).unwrap().unwrap();
    assert_eq!(control(&mut run, first.number), Ok(None));
    run.coordinator.stop(run.now, Stop::Cancelled);
    let second = control(&mut run, first.number).unwrap().unwrap();
    assert_eq!(second.number, first.number + 1);
    // A number that was never given is answered, whatever it is.
    assert!(control(&mut run, 99).unwrap().is_some());
    assert_eq!(
        run.coordinator.control(run.now, 0, &life("b"), 0),
        Err(Refused::Replaced { index: 0 })
    );
}

#[test]
fn nobody_goes_home_before_it_is_said() {
    let mut run = Run::replaying(2);
    for index in 0..2 {
        run.deliver(index, "a", REQUESTS, true).unwrap();
    }
    assert!(run.coordinator.is_over());
    assert_eq!(run.directive(0).release, None);
    run.coordinator.release();
    assert!(!run.coordinator.all_are_home(run.now));
    assert_eq!(run.directive(0).release, Some(Release::RunOver));
    assert!(!run.coordinator.all_are_home(run.now), "the other was not told");
    run.pass(16 * SECOND);
    assert!(run.coordinator.all_are_home(run.now), "the other is gone");
}
