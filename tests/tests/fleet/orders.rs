//! What people and clusters do to a run that goes on: cancel it, end it, cut it off from its manager.

use std::fs;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::Duration;

use reprise_contract::summary::{Counts, Summary, Verdict};
use reprise_contract::termination::Reason;
use reprise_mock_endpoint::ThreadHandle;
use rustix::process::{Pid, Signal, kill_process};

use crate::endpoint;
use crate::processes::{Ended, Fleet, Setting};

const REQUESTS: u32 = 400;
const GAP_MS: u32 = 20;
/// How long a cancel may take to reach every worker, as is promised.
const A_SECOND: Duration = Duration::from_secs(1);

struct Scene {
    fleet: Fleet,
    endpoint: ThreadHandle,
    _folder: tempfile::TempDir,
}

/// A run that has sent some of its requests.
fn going(set_up: impl FnOnce(&mut Setting)) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    endpoint::write_trace(&trace, REQUESTS, GAP_MS);
    let endpoint = endpoint::start("127.0.0.1");
    let mut setting = Setting::new(endpoint::spec(&trace, &endpoint.url()), 2);
    set_up(&mut setting);
    let mut fleet = Fleet::start(setting);
    while endpoint.arrivals().len() < 50 {
        assert!(fleet.is_running(), "{}", fleet.log());
        sleep(Duration::from_millis(20));
    }
    Scene {
        fleet,
        endpoint,
        _folder: folder,
    }
}

fn send(signal: Signal, pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn adds_up(counts: &Counts) -> bool {
    counts.in_all.sent
        + counts.in_all.unreached
        + counts.in_all.dropped
        + counts.in_all.not_sent
        + counts.unknown
        == u64::from(REQUESTS)
}

fn partial(ended: &Ended) -> &Summary {
    let summary = ended.summary.as_ref().expect(&ended.log);
    assert!(adds_up(&summary.counts), "{:?}", summary.counts);
    assert!(summary.counts.completed > 0, "what was measured is reported");
    assert!(summary.counts.not_sent > 0, "{:?}", summary.counts);
    summary
}

#[test]
fn a_cancel_by_file_stops_the_sending_within_a_second_and_keeps_what_was_measured() {
    let scene = going(|_| {});
    fs::write(scene.fleet.control_file(), r#"{"cancel": true}"#).unwrap();
    sleep(A_SECOND);
    let after_a_second = scene.endpoint.arrivals().len();
    let ended = scene.fleet.wait();
    assert_eq!(scene.endpoint.arrivals().len(), after_a_second);
    let summary = partial(&ended);
    assert_eq!(summary.verdict, Verdict::Cancelled, "{:?}", summary.message);
    assert_eq!(summary.counts.unknown, 0);
    assert!(ended.workers.values().all(ExitStatus::success), "{}", ended.log);
    assert_eq!(ended.message.unwrap().reason, Reason::Cancelled);
}

#[test]
fn a_deadline_by_file_ends_the_run_with_what_was_measured() {
    let scene = going(|_| {});
    let deadline = jiff::Timestamp::now() + Duration::from_millis(500);
    fs::write(
        scene.fleet.control_file(),
        format!(r#"{{"deadline": "{deadline}"}}"#),
    )
    .unwrap();
    let ended = scene.fleet.wait();
    let summary = partial(&ended);
    assert_eq!(summary.verdict, Verdict::Failed, "{:?}", summary.message);
    assert_eq!(ended.message.unwrap().reason, Reason::DeadlinePassed);
}

#[test]
fn a_manager_that_is_told_to_end_reports_what_was_measured() {
    let scene = going(|_| {});
    send(Signal::TERM, scene.fleet.manager_pid());
    let ended = scene.fleet.wait();
    partial(&ended);
    assert!(!ended.manager.success());
    assert_eq!(ended.message.unwrap().reason, Reason::Terminated);
}

#[test]
fn outcomes_of_a_time_without_manager_come_later_each_once() {
    let scene = going(|_| {});
    let manager = scene.fleet.manager_pid();
    send(Signal::STOP, manager);
    // The rest of the schedule passes in the meantime.
    while scene.endpoint.arrivals().len() < REQUESTS as usize {
        sleep(Duration::from_millis(50));
    }
    send(Signal::CONT, manager);
    let ended = scene.fleet.wait();
    assert!(ended.manager.success(), "{}", ended.log);
    let counts = ended.summary.unwrap().counts;
    assert_eq!(
        (counts.completed, counts.unknown),
        (u64::from(REQUESTS), 0),
        "{counts:?}"
    );
}

#[test]
fn workers_end_by_themselves_when_their_manager_is_gone() {
    let mut scene = going(|setting| {
        setting
            .of_workers
            .push(("REPRISE_MANAGER_TIMEOUT", "2s".to_owned()));
    });
    scene.fleet.kill_manager();
    for index in 0..2 {
        let exit = scene.fleet.wait_for_worker(index);
        assert_eq!(exit.code(), Some(3), "{}", scene.fleet.log());
    }
    assert!(
        scene.endpoint.arrivals().len() < REQUESTS as usize,
        "nothing is sent for nobody"
    );
}
