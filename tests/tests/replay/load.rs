//! How much goes at once, and over how many threads.

use std::num::NonZeroUsize;
use std::time::Duration;

use reprise_contract::{Ending, FailureCause};
use reprise_dataset::Format;
use reprise_tests::answers::{DONE, content as output, stream};
use reprise_tests::plans::{at_concurrency, burst, content, plan, recorded_plan};
use reprise_tests::runs::replay;
use reprise_tests::scripted_server::{Gate, ScriptedServer, Step};

use crate::mock;

/// The first answers wait until as many requests are in flight as may be.
#[test]
fn as_many_are_in_flight_as_asked_for_and_never_more() {
    for (threads, sessions) in [(1, 1), (1, 5), (2, 5), (4, 2)] {
        let gate = Gate::default();
        let opened = gate.clone();
        let server = ScriptedServer::start(move |request| {
            if request.index + 1 == sessions {
                opened.open();
            }
            let answer = stream(&[output("a"), DONE.to_owned()]);
            vec![
                Step::Wait(gate.clone()),
                Step::Pause(Duration::from_millis(1)),
                Step::Write(answer),
            ]
        });
        let content = burst(60);
        let schedule = at_concurrency(&content, u32::try_from(sessions).unwrap());
        let mut plan = plan(content, schedule, &[server.url()]);
        plan.threads = NonZeroUsize::new(threads).unwrap();
        let run = replay(plan);
        run.assert_all_completed();
        assert_eq!(server.most_in_flight(), sessions, "{threads} threads");
        assert!(server.used_connections() <= sessions);
        assert!(
            run.outcomes
                .iter()
                .all(|outcome| outcome.times.recorded.is_none())
        );
    }
}

/// Open loop: nothing waits for answers, which come only when all requests are there.
#[test]
fn on_the_recorded_schedule_requests_do_not_wait_for_answers() {
    let gate = Gate::default();
    let opened = gate.clone();
    let server = ScriptedServer::start(move |request| {
        if request.index == 39 {
            opened.open();
        }
        vec![
            Step::Wait(gate.clone()),
            Step::Write(stream(&[output("a"), DONE.to_owned()])),
        ]
    });
    let run = replay(recorded_plan(burst(40), &[server.url()]));
    run.assert_all_completed();
    assert_eq!(server.most_in_flight(), 40);
}

fn lengths(records: u32) -> Vec<String> {
    (0..records)
        .map(|index| {
            let (ms, tokens) = (index / 4, 20 + index % 7);
            format!(
                r#"{{"timestamp":{ms},"input_length":{tokens},"output_length":2,"hash_ids":[{}]}}"#,
                index % 5
            )
        })
        .collect()
}

#[test]
fn the_same_bodies_go_whatever_the_number_of_threads() {
    let bodies = [1, 2, 3].map(|threads| {
        let endpoint = mock::start();
        let mut plan = recorded_plan(content(Format::MooncakeTrace, &lengths(100)), &[endpoint.url()]);
        plan.threads = NonZeroUsize::new(threads).unwrap();
        let run = replay(plan);
        run.assert_all_completed();
        assert_eq!(run.replayed.threads.get(), threads);
        let mut bodies = mock::texts(&endpoint);
        bodies.sort();
        bodies
    });
    assert_eq!(bodies[0].len(), 100);
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(bodies[0], bodies[2]);
}

#[test]
fn no_more_threads_send_than_there_are_sessions() {
    let endpoint = mock::start();
    let mut plan = recorded_plan(burst(2), &[endpoint.url()]);
    plan.threads = NonZeroUsize::new(8).unwrap();
    let run = replay(plan);
    run.assert_all_completed();
    assert_eq!(run.replayed.threads.get(), 2);
}

#[test]
fn the_gaps_of_all_threads_are_counted_once() {
    let endpoint = mock::start_slow("1ms", "1ms");
    let mut plan = recorded_plan(content(Format::MooncakeTrace, &lengths(20)), &[endpoint.url()]);
    plan.threads = NonZeroUsize::new(2).unwrap();
    let run = replay(plan);
    run.assert_all_completed();
    let gaps: u64 = run
        .outcomes
        .iter()
        .map(|outcome| u64::from(outcome.gaps.count))
        .sum();
    assert_eq!((run.gaps.count(), gaps > 0), (gaps, true));
}

/// Many more outcomes than are handed on together, a tenth of them failures.
#[test]
fn every_answer_of_the_server_is_an_outcome() {
    let endpoint = mock::start_failing("0.1", "503");
    let content = burst(3_000);
    let schedule = at_concurrency(&content, 16);
    let mut plan = plan(content, schedule, &[endpoint.url()]);
    plan.threads = NonZeroUsize::new(2).unwrap();
    let run = replay(plan);
    let completed = run.count(Ending::Completed);
    let failed = run.count(Ending::Failed(FailureCause::HttpStatus));
    assert_eq!(completed + failed, 3_000);
    let statuses = endpoint.summary().statuses;
    assert_eq!(
        (statuses[&200], statuses[&503]),
        (completed as u64, failed as u64)
    );
}
