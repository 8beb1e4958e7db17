//! How runs end before their time: cancelled, over, too late.

use std::num::NonZeroUsize;
use std::time::Duration;

use reprise_content::schedule::{Extent, Load, Speed, Window, build};
use reprise_contract::{Ending, NotSentReason, Outcome};
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, STREAM_HEAD, chat_completion, chunk, content as output, json, stream};
use reprise_tests::plans::{STREAMED, at, at_concurrency, burst, content, plan, recorded_plan};
use reprise_tests::runs::{Running, replay};
use reprise_tests::scripted_server::{ScriptedServer, Step};
use reprise_worker::{LatePolicy, Plan, StopCause};

use crate::mock;

const OVER: Ending = Ending::NotSent(NotSentReason::DurationOver);
const CANCELLED: Ending = Ending::NotSent(NotSentReason::RunCancelled);
const ABORTED: Ending = Ending::NotSent(NotSentReason::RunAborted);

/// Streamed requests at these times, in seconds.
fn plan_at(times: &[f64], url: &str) -> Plan {
    let lines: Vec<_> = times.iter().map(|time| at(*time, STREAMED)).collect();
    recorded_plan(content(Format::WorkloadTrace, &lines), &[url])
}

/// One session whose turns are so many seconds apart.
fn long_session(turns: usize, seconds: u32) -> Vec<String> {
    (0..turns)
        .map(|turn| {
            let ms = turn * seconds as usize * 1_000;
            format!(r#"{{"timestamp":{ms},"session_id":"s","text_input":"Turn {turn}","output_length":4}}"#)
        })
        .collect()
}

#[test]
fn a_cancel_ends_what_is_in_flight_and_sends_nothing_more() {
    let server = ScriptedServer::start(|_| vec![Step::Stall]);
    let times: Vec<_> = (0..10)
        .map(|index| if index < 4 { 0.0 } else { 3_600.0 })
        .collect();
    let mut plan = plan_at(&times, &server.url());
    plan.threads = NonZeroUsize::new(2).unwrap();
    let running = Running::start(plan);
    server.wait_for_requests(4);
    running.control.cancel();
    let run = running.finish();
    assert_eq!(
        run.endings(),
        [[Ending::Cancelled; 4].as_slice(), &[CANCELLED; 6]].concat()
    );
    assert!(
        run.outcomes[..4].iter().all(Outcome::was_sent),
        "{:?}",
        run.outcomes
    );
    assert_eq!(run.replayed.stopped, Some(StopCause::Cancelled));
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_cancel_in_the_middle_of_a_stream_keeps_what_was_seen() {
    let server = ScriptedServer::start(|request| match request.index {
        0 => vec![Step::write(stream(&[output("a"), DONE.to_owned()]))],
        _ => vec![
            Step::write(STREAM_HEAD),
            Step::write(chunk(output("a"))),
            Step::write(chunk(output("b"))),
            Step::Stall,
        ],
    });
    let content = burst(5);
    let schedule = at_concurrency(&content, 1);
    let running = Running::start(plan(content, schedule, &[server.url()]));
    server.wait_for_requests(2);
    // The chunks are on their way, and there is no telling when the client has read them.
    std::thread::sleep(Duration::from_secs(1));
    running.control.cancel();
    let run = running.finish();
    assert_eq!(
        run.endings(),
        [
            Ending::Completed,
            Ending::Cancelled,
            CANCELLED,
            CANCELLED,
            CANCELLED
        ]
    );
    assert_eq!(
        (run.outcomes[1].output_chunks, run.outcomes[1].status),
        (2, Some(200))
    );
}

#[test]
fn a_cancel_before_the_start_sends_nothing() {
    let server = ScriptedServer::answering(chat_completion("hi"));
    let content = burst(5);
    for schedule in [
        at_concurrency(&content, 2),
        reprise_tests::plans::as_recorded(&content),
    ] {
        let (outcomes, received) = std::sync::mpsc::sync_channel(64);
        let control = reprise_worker::Control::default();
        control.cancel();
        let plan = plan(burst(5), schedule, &[server.url()]);
        let replayed = reprise_worker::replay(plan, &control, &outcomes).unwrap();
        drop(outcomes);
        let endings: Vec<_> = received
            .iter()
            .flat_map(|batch| batch.outcomes)
            .map(|outcome| outcome.ending)
            .collect();
        assert_eq!(endings, [CANCELLED; 5]);
        assert_eq!(replayed.stopped, Some(StopCause::Cancelled));
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_cancelled_session_is_partly_there() {
    let endpoint = mock::start();
    let lines = [long_session(2, 0), long_session(50, 3_600)[2..].to_vec()].concat();
    let running = Running::start(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[endpoint.url()],
    ));
    while endpoint.summary().requests < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.control.cancel();
    let run = running.finish();
    assert_eq!(run.outcomes.len(), 50);
    assert_eq!(
        run.outcomes.iter().filter(|outcome| outcome.was_sent()).count(),
        2
    );
    assert_eq!(run.count(CANCELLED), 48);
}

#[test]
fn after_the_duration_nothing_goes_and_what_is_in_flight_ends() {
    let endpoint = mock::start_slow("400ms", "0");
    let mut plan = plan_at(&[0.0, 0.05, 0.1, 0.100_001, 0.2, 0.25], &endpoint.url());
    plan.duration = Some(Duration::from_millis(100));
    let run = replay(plan);
    let completed = Ending::Completed;
    assert_eq!(run.endings(), [completed, completed, completed, OVER, OVER, OVER]);
    assert_eq!(endpoint.summary().requests, 3);
}

/// Ends in hours if it waits for what it will not send.
#[test]
fn a_run_whose_duration_is_over_does_not_wait_for_what_is_due_later() {
    let endpoint = mock::start();
    let mut plan = plan_at(&[0.0, 0.01, 7_200.0, 7_300.0], &endpoint.url());
    plan.duration = Some(Duration::from_secs(1));
    assert_eq!(
        replay(plan).endings(),
        [Ending::Completed, Ending::Completed, OVER, OVER]
    );
}

/// Ends in hours if it waits for what it will not send.
#[test]
fn a_session_does_not_outlive_the_duration() {
    let endpoint = mock::start();
    let delayed = [
        r#"{"timestamp":0,"session_id":"s","text_input":"Hi","output_length":4}"#.to_owned(),
        r#"{"session_id":"s","delay":7200000,"text_input":"And?","output_length":4}"#.to_owned(),
    ];
    for lines in [long_session(50, 600), delayed.to_vec()] {
        let turns = lines.len();
        let mut plan = recorded_plan(content(Format::MooncakeTrace, &lines), &[endpoint.url()]);
        plan.duration = Some(Duration::from_secs(1));
        let run = replay(plan);
        assert_eq!((run.count(Ending::Completed), run.count(OVER)), (1, turns - 1));
    }
}

/// Ends in hours if it waits for what it cannot send.
#[test]
fn a_conversation_that_lost_an_answer_does_not_wait_for_its_other_turns() {
    let server = ScriptedServer::answering(json("500 Internal Server Error", "{}"));
    let lines = long_session(50, 600);
    let run = replay(recorded_plan(
        content(Format::MooncakeTrace, &lines),
        &[server.url()],
    ));
    assert_eq!(run.count(Ending::NotSent(NotSentReason::AnswerMissing)), 49);
}

#[test]
fn the_duration_counts_from_the_first_measured_arrival() {
    let endpoint = mock::start();
    let lines = [0.0, 0.3, 0.4, 0.401].map(|time| at(time, STREAMED));
    let content = content(Format::WorkloadTrace, &lines);
    let load = Load::Recorded {
        speed: Speed::new(1.0).unwrap(),
        window: Window::default(),
    };
    let extent = Extent {
        warmup: 1,
        requests: None,
    };
    let schedule = build(&content, load, extent).unwrap();
    let mut plan = plan(content, schedule, &[endpoint.url()]);
    plan.duration = Some(Duration::from_millis(100));
    let run = replay(plan);
    let completed = Ending::Completed;
    assert_eq!(run.endings(), [completed, completed, completed, OVER]);
}

#[test]
fn in_a_closed_loop_the_duration_ends_the_run_too() {
    let endpoint = mock::start_slow("20ms", "0");
    let content = burst(1_000);
    let schedule = at_concurrency(&content, 2);
    let mut plan = plan(content, schedule, &[endpoint.url()]);
    plan.duration = Some(Duration::from_millis(200));
    let run = replay(plan);
    let completed = run.count(Ending::Completed);
    assert!((2..=22).contains(&completed), "{completed} completed");
    assert_eq!(completed + run.count(OVER), 1_000);
}

/// Whatever goes is at least a little late, so a threshold of nothing makes everything late.
#[test]
fn what_is_late_is_sent_all_the_same_or_left_out_or_ends_the_run_as_the_policy_says() {
    let server = ScriptedServer::answering(stream(&[output("a"), DONE.to_owned()]));
    for (policy, ending) in [
        (LatePolicy::CatchUp, Ending::Completed),
        (LatePolicy::Drop, Ending::Dropped),
        (LatePolicy::Abort, ABORTED),
    ] {
        let mut plan = recorded_plan(burst(50), &[server.url()]);
        plan.late_policy = policy;
        plan.late_threshold = Duration::ZERO;
        plan.threads = NonZeroUsize::new(2).unwrap();
        let run = replay(plan);
        assert_eq!(run.endings(), [ending; 50], "{policy:?}");
        let is_aborted = matches!(run.replayed.stopped, Some(StopCause::Aborted(_)));
        assert_eq!(is_aborted, policy == LatePolicy::Abort);
    }
    assert_eq!(server.requests().len(), 50, "only CatchUp sends");
}

/// 200 prompts of 20,000 tokens at once, and one an hour later. One thread cannot send them all within a millisecond, so the
/// later ones of the burst are late.
fn plan_of_a_large_burst(url: &str, late_policy: LatePolicy) -> Plan {
    let line = |ms: u32| format!(r#"{{"timestamp":{ms},"input_length":20000,"output_length":4}}"#);
    let lines = [vec![line(0); 200], vec![line(3_600_000)]].concat();
    let mut plan = recorded_plan(content(Format::MooncakeTrace, &lines), &[url]);
    plan.duration = Some(Duration::from_mins(1));
    plan.late_policy = late_policy;
    plan.late_threshold = Duration::from_millis(1);
    plan
}

#[test]
fn in_a_large_burst_what_was_sent_and_what_was_dropped_add_up() {
    let endpoint = mock::start();
    let run = replay(plan_of_a_large_burst(&endpoint.url(), LatePolicy::Drop));
    let (completed, dropped) = (run.count(Ending::Completed), run.count(Ending::Dropped));
    assert_eq!((completed + dropped, run.count(OVER)), (200, 1));
    assert!(dropped > 0);
    assert_eq!(endpoint.summary().requests, completed as u64);
}

#[test]
fn an_abort_ends_what_is_in_flight_and_what_waits() {
    let server = ScriptedServer::start(|_| vec![Step::Stall]);
    let mut plan = plan_of_a_large_burst(&server.url(), LatePolicy::Abort);
    plan.duration = None;
    let run = replay(plan);
    let (in_flight, not_sent) = (run.count(Ending::Cancelled), run.count(ABORTED));
    assert_eq!(in_flight + not_sent, 201);
    assert!(not_sent > 1);
    assert!(matches!(&run.replayed.stopped, Some(StopCause::Aborted(why)) if why.contains("lateThreshold")));
}
