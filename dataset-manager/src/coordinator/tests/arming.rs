//! Agreement on T0.

use reprise_contract::protocol::Release;

use super::*;

#[test]
fn t0_is_proposed_when_all_are_ready() {
    let mut run = Run::of(2);
    run.join(0, "a").unwrap();
    run.join(1, "a").unwrap();
    assert_eq!(run.ready(0, "a"), Ok(Readied::NotYet { ready: 1, workers: 2 }));
    let start = Readied::Start {
        epoch: 1,
        t0_manager_ns: run.now + 4 * SECOND,
    };
    assert_eq!(run.ready(1, "a"), Ok(start.clone()));
    assert_eq!(run.ready(0, "a"), Ok(start), "also to the one that waited");
}

#[test]
fn a_worker_that_hung_up_is_waited_for() {
    let mut run = Run::of(2);
    run.join(0, "a").unwrap();
    run.join(1, "a").unwrap();
    run.ready(0, "a").unwrap();
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert!(matches!(run.ready(1, "a"), Ok(Readied::NotYet { .. })));
    run.coordinator.hear(run.now, 0, &life("a")).unwrap();
    let answer = run.coordinator.readied(run.now, 1, &life("a"));
    assert!(matches!(answer, Ok(Readied::Start { .. })), "{answer:?}");
}

#[test]
fn nobody_gets_go_before_all_have_confirmed() {
    let mut run = Run::of(2);
    for index in 0..2 {
        run.join(index, "a").unwrap();
        run.ready(index, "a").unwrap();
    }
    run.arm(0, "a").unwrap();
    assert_eq!(run.confirmed(0, "a"), Ok(None));
    run.arm(1, "a").unwrap();
    assert_eq!(run.confirmed(0, "a"), Ok(Some(Confirmed::Go)));
    assert_eq!(run.confirmed(1, "a"), Ok(Some(Confirmed::Go)));
}

#[test]
fn another_t0_is_not_confirmed() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    run.ready(0, "a").unwrap();
    let armed = Armed {
        incarnation: life("a"),
        epoch: 1,
        t0_manager_ns: run.now,
    };
    run.coordinator.armed(run.now, 0, &armed).unwrap();
    assert_eq!(run.confirmed(0, "a"), Ok(Some(Confirmed::Moved)));
}

#[test]
fn a_proposal_that_one_does_not_confirm_in_time_is_void() {
    let mut run = Run::of(2);
    for index in 0..2 {
        run.join(index, "a").unwrap();
        run.ready(index, "a").unwrap();
    }
    run.arm(0, "a").unwrap();
    run.pass(2 * SECOND - 1);
    assert_eq!(run.confirmed(0, "a"), Ok(None));
    run.pass(1);
    assert_eq!(
        run.coordinator.confirmed(run.now, 0, &life("a"), 1),
        Ok(Some(Confirmed::Moved))
    );
    assert_eq!(run.directive(0).epoch, 2);
    // Both ask again, and go on.
    run.ready(0, "a").unwrap();
    run.ready(1, "a").unwrap();
    run.go("a");
    run.past_t0();
}

#[test]
fn go_is_not_given_too_late() {
    let mut run = Run::armed(1);
    run.pass(2 * SECOND - 1);
    assert_eq!(run.confirmed(0, "a"), Ok(Some(Confirmed::Go)));
    run.pass(1);
    assert_eq!(run.confirmed(0, "a"), Ok(Some(Confirmed::Moved)));
}

#[test]
fn who_has_no_go_and_asks_again_calls_it_off_for_all() {
    let mut run = Run::armed(2);
    run.pass(2 * SECOND + 100 * MS);
    let before = run.directive(0).number;
    assert_eq!(run.ready(1, "a"), Ok(Readied::NotYet { ready: 1, workers: 2 }));
    let directive = run.directive(0);
    assert!(directive.number > before && directive.epoch == 2);
    run.pass(2 * SECOND);
    assert_eq!(
        run.coordinator.stage(),
        Some(Stage::Gathering),
        "T0 is past, and void"
    );
    run.ready(0, "a").unwrap();
    run.go("a");
    run.past_t0();
}

#[test]
fn who_asks_again_too_late_to_call_it_off_stays_behind() {
    let mut run = Run::armed(2);
    run.coordinator.rules.on_loss = OnLoss::GoOn;
    run.pass(4 * SECOND - 400 * MS);
    let released = Readied::Released {
        release: Release::ShardLost,
    };
    assert_eq!(run.ready(1, "a"), Ok(released));
    let loss = Loss {
        at_ns: None,
        cause: LossCause::NotStarted,
    };
    assert_eq!(run.loss(1), Some(loss));
    assert_eq!(run.directive(0).epoch, 1, "the other starts");
    run.pass(400 * MS);
    assert_eq!(run.coordinator.stage(), Some(Stage::Replaying));
    run.deliver(0, "a", REQUESTS, true).unwrap();
    assert!(run.coordinator.is_over());
}

#[test]
fn who_asks_to_be_ready_after_t0_has_sent_nothing() {
    let mut run = Run::replaying(1);
    let released = Readied::Released {
        release: Release::ShardLost,
    };
    assert_eq!(run.ready(0, "a"), Ok(released));
    assert_eq!(run.loss(0).unwrap().at_ns, None);
    assert!(run.coordinator.is_over());
}

#[test]
fn who_has_delivered_and_asks_to_be_ready_may_have_sent_more() {
    let mut run = Run::replaying(1);
    run.deliver(0, "a", 1, false).unwrap();
    run.pass(SECOND);
    run.ready(0, "a").unwrap();
    assert_eq!(run.loss(0).unwrap().at_ns, Some(SECOND));
}

#[test]
fn a_replacement_before_t0_calls_it_off() {
    let mut run = Run::armed(2);
    run.pass(SECOND);
    run.coordinator.broke_off(run.now, 1, &life("a"));
    assert_eq!(run.join(1, "b"), Ok(JoinAnswer::Welcome));
    assert_eq!(run.directive(0).epoch, 2);
    run.ready(0, "a").unwrap();
    run.ready(1, "b").unwrap();
    run.arm(0, "a").unwrap();
    run.arm(1, "b").unwrap();
    assert_eq!(run.confirmed(0, "a"), Ok(Some(Confirmed::Go)));
}

#[test]
fn a_replacement_too_late_to_call_it_off_is_sent_home() {
    let mut run = Run::armed(2);
    run.pass(4 * SECOND - 100 * MS);
    run.coordinator.broke_off(run.now, 1, &life("a"));
    assert_eq!(run.join(1, "b"), Ok(JoinAnswer::Released(Release::ShardLost)));
}

#[test]
fn an_armed_worker_that_hangs_up_calls_it_off() {
    let mut run = Run::armed(2);
    run.coordinator.broke_off(run.now, 1, &life("a"));
    run.pass(300 * MS);
    assert_eq!(run.directive(0).epoch, 1, "it may call again");
    run.pass(1);
    assert_eq!(run.directive(0).epoch, 2);
    // It comes back as it was, and both go on.
    run.ready(0, "a").unwrap();
    run.ready(1, "a").unwrap();
    run.go("a");
    run.past_t0();
}

#[test]
fn an_armed_worker_that_calls_again_does_not() {
    let mut run = Run::armed(2);
    run.coordinator.broke_off(run.now, 1, &life("a"));
    run.pass(200 * MS);
    run.coordinator.hear(run.now, 1, &life("a")).unwrap();
    run.pass(3_800 * MS);
    assert_eq!(run.coordinator.stage(), Some(Stage::Replaying));
}

#[test]
fn outcomes_before_t0_say_that_somebody_started_alone() {
    let mut run = Run::armed(2);
    run.pass(2_500 * MS);
    run.ready(1, "a").unwrap();
    run.pass(2 * SECOND);
    assert!(matches!(run.deliver(0, "a", 1, false), Err(Refused::Ended(_))));
    insta::assert_snapshot!(run.failure(), @"Cannot use this run: worker 0 started at a T0 that had been called off, as it was not reached in time. Check the network between workers and dataset-manager, and run again.");
}

#[test]
fn empty_batches_before_t0_are_welcome() {
    let mut run = Run::armed(1);
    assert_eq!(run.deliver(0, "a", 0, false), Ok(1));
    let mut run = run.past_t0();
    assert_eq!(run.deliver(0, "a", REQUESTS, true), Ok(2));
}

#[test]
fn a_replacement_numbers_its_batches_anew() {
    let mut run = Run::armed(1);
    run.deliver(0, "a", 0, false).unwrap();
    run.coordinator.broke_off(run.now, 0, &life("a"));
    run.join(0, "b").unwrap();
    assert_eq!(run.store(0, &head_of("b", 0), 0), Ok(1));
}
