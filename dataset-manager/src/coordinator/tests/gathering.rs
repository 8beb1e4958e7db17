//! Outcomes and losses.

use super::*;

#[test]
fn batches_are_taken_once_and_in_order() {
    let mut run = Run::replaying(1);
    assert_eq!(
        run.store(0, &head_of("a", 1), 1),
        Err(Refused::OutOfOrder {
            index: 0,
            number: 1,
            wanted: 0
        })
    );
    assert_eq!(run.store(0, &head_of("a", 0), 3), Ok(1));
    assert_eq!(run.store(0, &head_of("a", 0), 3), Ok(1), "known");
    assert_eq!(run.coordinator.numbers(run.now).received, 3);
    assert_eq!(
        run.store(0, &head_of("b", 1), 3),
        Err(Refused::Replaced { index: 0 })
    );
}

#[test]
fn a_batch_that_is_being_stored_is_not_taken_twice() {
    let mut run = Run::replaying(1);
    let head = head_of("a", 0);
    assert_eq!(run.coordinator.admit(run.now, 0, &head, 3), Ok(Admission::New));
    assert_eq!(
        run.coordinator.admit(run.now, 0, &head, 3),
        Err(Refused::BeingStored { index: 0, number: 0 })
    );
}

#[test]
fn the_run_is_over_when_all_have_delivered_everything() {
    let mut run = Run::replaying(2);
    run.deliver(0, "a", REQUESTS, true).unwrap();
    assert!(!run.coordinator.is_over());
    run.deliver(1, "a", 4, false).unwrap();
    run.deliver(1, "a", 6, true).unwrap();
    assert!(run.coordinator.is_over());
    // The answer to the last batch was lost, and it comes again.
    assert_eq!(run.store(1, &head_of("a", 1), 6), Ok(2));
    assert_eq!(run.coordinator.numbers(run.now).received, 20);
}

#[test]
fn a_worker_that_leaves_early_is_lost_with_all_its_outcomes_there() {
    let mut run = Run::replaying(2);
    let last = BatchHead {
        is_last: true,
        is_leaving: true,
        ..head_of("a", 0)
    };
    run.store(0, &last, REQUESTS).unwrap();
    assert_eq!(run.loss(0).unwrap().cause, LossCause::Left);
    insta::assert_snapshot!(run.coordinator.message().unwrap(), @"Worker 0 was lost: it was told to end before it was done.");
    assert!(run.directive(1).stop.is_some(), "lossPolicy: Fail");
    assert_eq!(run.store(0, &last, REQUESTS), Ok(1), "known");
}

#[test]
fn a_last_batch_that_leaves_requests_out_contradicts() {
    let mut run = Run::replaying(2);
    run.coordinator.rules.on_loss = OnLoss::GoOn;
    let refused = run.deliver(0, "a", 9, true).unwrap_err();
    insta::assert_snapshot!(refused, @"Cannot take a batch of worker 0: the last batch came after 9 of 10 outcomes. The worker counts as lost.");
    insta::assert_snapshot!(run.coordinator.message().unwrap(), @"Worker 0 delivered outcomes that contradict the plan (the last batch came after 9 of 10 outcomes).");
    assert!(matches!(run.loss(0).unwrap().cause, LossCause::Contradicted(_)));
    assert!(
        run.directive(1).stop.is_some(),
        "whatever the policy says: the result would be wrong"
    );
}

#[test]
fn a_loss_stops_the_others_or_not() {
    for (on_loss, stops) in [(OnLoss::Stop, true), (OnLoss::GoOn, false)] {
        let mut run = Run::replaying(2);
        run.coordinator.rules.on_loss = on_loss;
        run.coordinator.broke_off(run.now, 0, &life("a"));
        run.join(0, "b").unwrap();
        assert_eq!(run.directive(1).stop.is_some(), stops);
        run.deliver(1, "a", REQUESTS, true).unwrap();
        assert!(run.coordinator.is_over());
    }
}

#[test]
fn a_loss_is_told_in_a_sentence() {
    let mut run = Run::replaying(2);
    run.coordinator.broke_off(run.now, 0, &life("a"));
    run.join(0, "b").unwrap();
    insta::assert_snapshot!(run.coordinator.message().unwrap(), @"Worker 0 was lost: it died, and another process came in its place.");
}

#[test]
fn silence_is_a_loss_only_after_all_must_be_in() {
    let mut run = Run::replaying(2);
    run.coordinator.rules.on_loss = OnLoss::GoOn;
    // The schedule and its answers end after 60 s; another 60 s of silence are borne.
    run.pass_with(120, &[(1, "a")]);
    assert_eq!(run.loss(0), None);
    run.pass(1);
    let loss = Loss {
        at_ns: Some(120 * SECOND + 1),
        cause: LossCause::Silent,
    };
    assert_eq!(run.loss(0), Some(loss));
    assert_eq!(run.loss(1), None, "it delivers late, and is there");
}

#[test]
fn a_worker_that_comes_back_in_time_is_not_lost() {
    let mut run = Run::replaying(1);
    run.pass(119 * SECOND);
    run.deliver(0, "a", REQUESTS, true).unwrap();
    assert_eq!(run.loss(0), None);
}

#[test]
fn after_a_stop_all_must_be_in_soon() {
    let mut run = Run::replaying(1);
    run.coordinator.stop(run.now, Stop::Cancelled);
    run.pass(60 * SECOND);
    assert_eq!(run.loss(0), None);
    run.pass(1);
    assert!(run.coordinator.is_over());
}

#[test]
fn a_worker_that_is_there_and_delivers_nothing_is_given_up_on_too() {
    let mut run = Run::replaying(1);
    run.deliver(0, "a", 3, false).unwrap();
    run.pass_with(660, &[(0, "a")]);
    assert_eq!(run.loss(0), None);
    run.pass(1);
    assert_eq!(run.loss(0).unwrap().cause, LossCause::Silent);
}

#[test]
fn a_worker_out_of_reach_for_longer_than_it_would_bear_is_lost_in_a_long_run() {
    let mut run = Run::replaying(1);
    run.coordinator.slots[0].facts.end_ns = 24 * 3_600 * SECOND;
    run.pass_with(1, &[(0, "a")]);
    run.pass(600 * SECOND);
    assert_eq!(run.loss(0), None);
    run.pass(1);
    assert_eq!(run.loss(0).unwrap().cause, LossCause::Silent);
}

#[test]
fn what_is_being_stored_when_its_worker_is_lost_still_counts() {
    let mut run = Run::replaying(1);
    let mut head = head_of("a", 0);
    head.sent = 3;
    run.coordinator.admit(run.now, 0, &head, 3).unwrap();
    run.coordinator.broke_off(run.now, 0, &life("a"));
    run.join(0, "b").unwrap();
    assert!(!run.coordinator.is_over(), "it is on its way to the disk");
    let counts = BatchCounts {
        outcomes: 3,
        ..BatchCounts::default()
    };
    run.coordinator.commit(run.now, 0, &head, counts).unwrap();
    assert!(run.coordinator.is_over());
    assert_eq!(run.coordinator.records()[0].delivered, 3);
}

#[test]
fn a_full_disk_ends_the_run() {
    let mut run = Run::replaying(2);
    run.coordinator.admit(run.now, 0, &head_of("a", 0), 1).unwrap();
    run.coordinator.storage_failed(0, "no space left on device");
    assert_eq!(
        run.failure(),
        "Cannot keep the outcomes of this run: no space left on device"
    );
    assert_eq!(
        run.deliver(1, "a", 1, false),
        Err(Refused::NoRoom("no space left on device".to_owned()))
    );
    assert!(run.directive(1).stop.is_some());
}

#[test]
fn the_rate_is_that_of_the_last_seconds() {
    let mut run = Run::replaying(1);
    for number in 0..10 {
        run.pass(SECOND);
        let mut head = head_of("a", number);
        head.sent = u32::try_from(number).unwrap();
        run.store(0, &head, 0).unwrap();
    }
    let rate = run.coordinator.numbers(run.now).sent_per_second;
    assert!((rate - 1.0).abs() < 1e-9, "{rate}");
    run.pass(6 * SECOND);
    assert_eq!(run.coordinator.numbers(run.now).sent_per_second.to_bits(), 0);
}
