//! From the start of the process to its shard.

use std::time::Duration;

use ::http::StatusCode;
use reprise_contract::protocol::{Joined, RefusalCode, Release, path};
use reprise_contract::termination::Reason;

use crate::manager::{Manager, Scripted};
use crate::plan::SmallPlan;
use crate::process::Worker;
use crate::target::Target;

fn small(target: &Target) -> SmallPlan {
    SmallPlan::new(4, 10, target.url())
}

#[test]
fn a_worker_replays_its_shard_delivers_everything_and_goes_home() {
    let target = Target::start(Duration::from_millis(5));
    let plan = SmallPlan::new(20, 20, target.url());
    let numbers = plan.numbers.clone();
    let manager = Manager::start(plan);
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(worker.last_words().reason, Reason::Released);
    assert_eq!(target.count(), 20);

    let state = manager.state();
    let mut sent: Vec<_> = state.outcomes().map(|outcome| outcome.request).collect();
    sent.sort_unstable();
    assert_eq!(
        sent, numbers,
        "each request of the shard once, by its number in the whole plan"
    );
    assert!(state.outcomes().all(|outcome| outcome.status == Some(200)));
    assert!(
        (0..)
            .zip(&state.batches)
            .all(|(number, (head, _))| head.number == number)
    );
    let (last, _) = state.batches.last().unwrap();
    assert!(last.is_last);
    assert_eq!((last.sent, last.stopped.as_ref()), (20, None));
    assert_eq!(last.watermark_ns, Some(19 * 20_000_000));
    let samples: usize = state.batches.iter().map(|(head, _)| head.clock.len()).sum();
    assert!(samples >= 16, "{samples}");
    let joined = state.joined.as_ref().unwrap();
    assert_eq!(
        (joined.index, joined.incarnation.to_string().as_str()),
        (1, "life-1")
    );
    assert!(joined.capacity.requests_per_second > 0);
    let files: Vec<_> = std::fs::read_dir(worker.scratch()).unwrap().collect();
    assert_eq!(files.len(), 1, "only its last words are left: {files:?}");
}

#[test]
fn it_waits_for_the_plan_for_its_index_and_for_the_manager() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| {
        state.joins = [
            Scripted::Refuse(StatusCode::SERVICE_UNAVAILABLE, RefusalCode::NotNow),
            Scripted::Answer(Joined::NotYet {
                doing: "building".to_owned(),
            }),
            Scripted::Refuse(StatusCode::CONFLICT, RefusalCode::IndexTaken),
        ]
        .into();
        state.is_unreachable = true;
    });
    let mut worker = Worker::start(&manager);
    std::thread::sleep(Duration::from_millis(800));
    manager.change(|state| state.is_unreachable = false);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(manager.state().calls(path::JOIN), 4);
    assert_eq!(target.count(), 4);
}

#[test]
fn it_goes_home_when_it_is_told_so_at_the_door() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| {
        state.joins = [Scripted::Answer(Joined::Released {
            release: Release::ShardLost,
        })]
        .into();
    });
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(manager.state().calls(path::SHARDS), 0);
    assert_eq!(target.count(), 0);
}

#[test]
fn it_ends_when_the_manager_does_not_take_it() {
    for (status, code) in [
        (StatusCode::BAD_REQUEST, RefusalCode::WrongVersion),
        (StatusCode::UNAUTHORIZED, RefusalCode::WrongToken),
        (StatusCode::NOT_FOUND, RefusalCode::NoSuchIndex),
    ] {
        let target = Target::start(Duration::ZERO);
        let manager = Manager::with(small(&target), |state| {
            state.joins = [Scripted::Refuse(status, code)].into();
        });
        let mut worker = Worker::start(&manager);
        assert_eq!(worker.exit_code(), 2);
        let words = worker.last_words();
        assert_eq!(words.reason, Reason::WrongSettings);
        assert!(words.message.contains(&format!("{code:?}")), "{}", words.message);
    }
}

#[test]
fn it_gives_up_on_a_manager_that_it_never_reaches() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| state.is_unreachable = true);
    let budget = "REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS";
    let mut worker = Worker::with(
        &manager,
        &[(budget, "1"), ("REPRISE_REGISTRATION_TIMEOUT", "500ms")],
    );
    assert_eq!(worker.exit_code(), 3);
    let words = worker.last_words();
    assert_eq!(words.reason, Reason::ManagerGone);
    assert!(
        words
            .message
            .starts_with("Cannot join the run at https://127.0.0.1"),
        "{}",
        words.message
    );
}

#[test]
fn another_runs_manager_is_not_trusted() {
    let target = Target::start(Duration::ZERO);
    let (manager, other) = (Manager::start(small(&target)), Manager::start(small(&target)));
    let budget = "REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS";
    let mut worker = Worker::with(
        &manager,
        &[
            (budget, "1"),
            ("REPRISE_REGISTRATION_TIMEOUT", "500ms"),
            ("REPRISE_MANAGER_URL", &other.url()),
        ],
    );
    assert_eq!(worker.exit_code(), 3);
    assert_eq!(other.state().calls(path::JOIN), 0);
    let message = worker.last_words().message;
    assert!(message.contains("certificate"), "{message}");
}

#[test]
fn a_shard_that_breaks_off_or_arrives_damaged_is_fetched_again() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::with(small(&target), |state| state.broken_shards = [true, false].into());
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 0);
    assert_eq!(manager.state().calls(path::SHARDS), 3);
    assert_eq!(target.count(), 4);
}

#[test]
fn the_manager_hears_why_a_plan_is_of_no_use() {
    let manager = Manager::start(SmallPlan::new(4, 10, "ftp://target".to_owned()));
    let mut worker = Worker::start(&manager);
    assert_eq!(worker.exit_code(), 1);
    assert_eq!(worker.last_words().reason, Reason::PlanUnusable);
    let declined = manager.state().declined.clone().unwrap();
    assert!(declined.contains("ftp://target"), "{declined}");
}

#[test]
fn settings_that_are_wrong_end_it_before_it_calls_anyone() {
    let target = Target::start(Duration::ZERO);
    let manager = Manager::start(small(&target));
    let mut worker = Worker::with(
        &manager,
        &[("REPRISE_THREADS", "none"), ("REPRISE_GRACE", "soon")],
    );
    assert_eq!(worker.exit_code(), 2);
    let words = worker.last_words();
    assert!(
        words.message.contains("REPRISE_THREADS") && words.message.contains("REPRISE_GRACE"),
        "{}",
        words.message
    );
    assert!(manager.state().calls.is_empty());
}
