//! Who holds a shard.

use reprise_contract::protocol::{Release, WorkerState};

use super::*;

#[test]
fn workers_wait_for_the_plan() {
    let mut run = Run::without_plan(Rules::default());
    assert_eq!(run.join(7, "a"), Ok(JoinAnswer::NotYet));
    run.pass(3_600 * SECOND);
    assert_eq!(run.coordinator.failure(), None, "there is no plan to join for");
}

#[test]
fn another_version_is_told_both() {
    let mut run = Run::of(1);
    let mut join = join_of(0, "a");
    join.version = "9.9.9".to_owned();
    let refused = run.coordinator.join(run.now, &join).unwrap_err();
    insta::assert_snapshot!(refused, @"Cannot let worker 0 join: it is Reprise 9.9.9 (protocol 1) and the dataset-manager is Reprise 0.1.0 (protocol 1). Use one image version for both.");
    join = join_of(0, "a");
    join.protocol = 2;
    assert!(matches!(
        run.coordinator.join(run.now, &join),
        Err(Refused::WrongVersion { .. })
    ));
}

#[test]
fn an_index_that_is_too_high_is_none() {
    assert_eq!(
        Run::of(2).join(2, "a"),
        Err(Refused::NoSuchIndex { index: 2, workers: 2 })
    );
}

#[test]
fn a_second_worker_is_refused_while_the_first_is_heard_from() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    run.pass(4 * SECOND);
    assert!(matches!(run.join(0, "b"), Err(Refused::IndexTaken { .. })));
    run.pass(SECOND);
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Welcome));
    assert_eq!(run.ready(0, "a"), Err(Refused::Replaced { index: 0 }));
}

#[test]
fn a_call_that_broke_off_makes_room_at_once() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Welcome));
    // That of a predecessor says nothing about the worker that is there.
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert!(matches!(run.join(0, "c"), Err(Refused::IndexTaken { .. })));
    // Nor does one that was followed by another call.
    run.coordinator.broke_off(run.now, 0, &life("b"));
    run.coordinator.hear(run.now, 0, &life("b")).unwrap();
    assert!(matches!(run.join(0, "c"), Err(Refused::IndexTaken { .. })));
}

#[test]
fn a_call_that_broke_off_means_nothing_while_another_waits() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    run.coordinator.waits(0, &life("a"));
    run.coordinator.waits(0, &life("a"));
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert!(matches!(run.join(0, "b"), Err(Refused::IndexTaken { .. })));
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Welcome));
}

#[test]
fn joining_twice_is_joining_once() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    assert_eq!(run.join(0, "a"), Ok(JoinAnswer::Welcome));
    assert_eq!(run.coordinator.records()[0].lives, 1);
}

#[test]
fn who_never_joins_is_named() {
    let mut run = Run::of(4);
    run.join(2, "a").unwrap();
    run.pass_with(30, &[(2, "a")]);
    assert_eq!(run.coordinator.failure(), None);
    run.pass(1);
    insta::assert_snapshot!(run.failure(), @"Cannot start the run: workers 0, 1, 3 of 4 were missing for 30 s. Look at the pods of those workers: not scheduled, image not pulled, or unable to reach the dataset-manager. REPRISE_REGISTRATION_TIMEOUT is how long they may take.");
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Released(Release::RunFailed)));
    assert_eq!(run.directive(2).release, Some(Release::RunFailed));
}

#[test]
fn who_disappears_before_t0_is_waited_for_as_long() {
    let mut run = Run::of(2);
    run.join(0, "a").unwrap();
    run.join(1, "a").unwrap();
    run.pass_with(100, &[(0, "a"), (1, "a")]);
    run.pass_with(30, &[(0, "a")]);
    assert_eq!(run.coordinator.failure(), None);
    run.pass(1);
    assert!(run.failure().contains("worker 1 of 2"), "{}", run.failure());
}

#[test]
fn a_replacement_in_time_saves_the_run() {
    let mut run = Run::of(1);
    run.join(0, "a").unwrap();
    run.pass(29 * SECOND);
    run.join(0, "b").unwrap();
    run.pass(29 * SECOND);
    assert_eq!(run.coordinator.failure(), None);
}

#[test]
fn too_few_workers_fail_when_all_have_joined() {
    let enough: Enough = Box::new(|capacities| {
        assert_eq!(capacities.len(), 2);
        Err("Cannot send this schedule from 2 workers. Use 3.".to_owned())
    });
    let mut run = Run::by(Rules::default(), 2, enough);
    assert_eq!(run.join(0, "a"), Ok(JoinAnswer::Welcome));
    assert_eq!(run.join(1, "a"), Ok(JoinAnswer::Released(Release::RunFailed)));
    assert_eq!(run.failure(), "Cannot send this schedule from 2 workers. Use 3.");
}

#[test]
fn a_worker_that_can_never_be_ready_ends_the_run() {
    let mut run = Run::of(2);
    run.join(0, "a").unwrap();
    let ready = Ready {
        incarnation: life("a"),
        failure: Some("Cannot use https://x: no certificate.".to_owned()),
    };
    run.coordinator.ready(run.now, 0, &ready).unwrap();
    assert_eq!(
        run.failure(),
        "Cannot start the run: worker 0 cannot take part: Cannot use https://x: no certificate."
    );
}

#[test]
fn after_t0_whoever_comes_proves_the_loss() {
    let mut run = Run::replaying(2);
    run.coordinator.rules.on_loss = OnLoss::GoOn;
    run.pass_with(3, &[(0, "a"), (1, "a")]);
    assert!(
        matches!(run.join(0, "b"), Err(Refused::IndexTaken { .. })),
        "the first is alive"
    );
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Released(Release::ShardLost)));
    let loss = Loss {
        at_ns: Some(3 * SECOND),
        cause: LossCause::Restarted,
    };
    assert_eq!(run.loss(0), Some(loss));
    // Whoever comes later is sent home as well, and the first is not listened to any more.
    assert_eq!(run.join(0, "c"), Ok(JoinAnswer::Released(Release::ShardLost)));
    assert_eq!(run.deliver(0, "a", 1, false), Err(Refused::Replaced { index: 0 }));
    assert_eq!(run.directive(0).release, Some(Release::ShardLost));
    assert_eq!(run.directive(1).release, None);
}

#[test]
fn the_same_life_that_joins_after_t0_has_lost_what_it_knew() {
    let mut run = Run::replaying(1);
    assert_eq!(run.join(0, "a"), Ok(JoinAnswer::Released(Release::ShardLost)));
}

#[test]
fn a_replacement_of_a_worker_that_has_delivered_everything_goes_home() {
    let mut run = Run::replaying(2);
    run.deliver(0, "a", REQUESTS, true).unwrap();
    run.coordinator.broke_off(run.now, 0, &life("a"));
    assert_eq!(run.join(0, "b"), Ok(JoinAnswer::Released(Release::RunOver)));
    assert_eq!(run.loss(0), None);
}

#[test]
fn states_tell_how_far_each_has_come() {
    let states = |run: &Run| {
        let statuses = run.coordinator.worker_statuses(run.now, |_| None);
        statuses.iter().map(|status| status.state).collect::<Vec<_>>()
    };
    let mut run = Run::of(2);
    assert_eq!(states(&run), [WorkerState::Missing; 2]);
    run.join(0, "a").unwrap();
    run.ready(0, "a").unwrap();
    run.join(1, "a").unwrap();
    assert_eq!(states(&run), [WorkerState::Ready, WorkerState::Joined]);
    run.ready(1, "a").unwrap();
    run.arm(0, "a").unwrap();
    assert_eq!(states(&run), [WorkerState::Armed, WorkerState::Ready]);
    run.go("a");
    let mut run = run.past_t0();
    assert_eq!(states(&run), [WorkerState::Replaying; 2]);
    run.deliver(0, "a", REQUESTS, true).unwrap();
    run.join(1, "a").unwrap();
    assert_eq!(states(&run), [WorkerState::Finished, WorkerState::Lost]);
}
