//! Many workers, and workers that are lost.

use super::*;

/// The summary without what only a run by many workers has.
fn but_for_workers(summary: Summary) -> Summary {
    Summary {
        workers: Vec::new(),
        split: None,
        clock_error: None,
        ..summary
    }
}

fn input_of(planned: usize, workers: Workers) -> Input {
    Input {
        workers: Some(workers),
        ..fixtures::input(planned)
    }
}

proptest! {
    /// However requests are shared among workers, and in whatever order their outcomes come in, the report is the same.
    #[test]
    fn any_split_in_any_order_gives_the_report_of_one_worker(
        outcomes in prop::collection::vec((any_outcome(), 0_u32..5), 0..150).prop_map(|mut outcomes| {
            for (request, (outcome, _)) in (0..).zip(&mut outcomes) {
                outcome.request = request;
            }
            outcomes
        }),
        order in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let alone: Vec<_> = outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
        let planned = alone.len();
        let expected = summary_with(fixtures::input(planned), &alone);

        let mut shared: Vec<_> = outcomes
            .into_iter()
            .map(|(outcome, worker)| Outcome { worker, clock_error_ns: Some(7), ..outcome })
            .collect();
        shared.sort_by_key(|outcome| u64::from(outcome.request).wrapping_mul(seed | 1));
        if planned > 0 {
            shared.rotate_left(order.index(planned));
        }
        let summary = summary_with(input_of(planned, fixtures::workers(planned, 5)), &shared);
        let by_worker = |of: fn(&reprise_contract::summary::WorkerResult) -> u64| summary.workers.iter().map(of).sum::<u64>();
        prop_assert_eq!(by_worker(|result| result.sent), summary.counts.in_all.sent);
        let warmup_completed = summary.counts.warmup - summary.counts.warmup_not_completed;
        prop_assert_eq!(by_worker(|result| result.completed), summary.counts.completed + warmup_completed);
        // Only the advice in a warning may name workers.
        prop_assert_eq!(codes(&summary), codes(&expected));
        let without_warnings = |summary| Summary { warnings: Vec::new(), ..but_for_workers(summary) };
        prop_assert_eq!(without_warnings(summary), without_warnings(expected));
    }

    #[test]
    fn every_planned_request_is_sent_unreached_dropped_not_sent_or_unknown(
        mut outcomes in prop::collection::vec(any_outcome(), 0..60),
        unknown in 0..9_u64,
        degrade in any::<bool>(),
    ) {
        for (request, outcome) in (0..).zip(&mut outcomes) {
            outcome.request = request;
        }
        let planned = outcomes.len() + usize::try_from(unknown).unwrap();
        let summary = summary_with(input_of(planned, losing(planned, unknown, degrade)), &outcomes);
        let Counts { planned, unknown: counted, in_all, .. } = &summary.counts;
        prop_assert_eq!(*counted, unknown);
        prop_assert_eq!(*planned, in_all.sent + in_all.unreached + in_all.dropped + in_all.not_sent + counted);
        prop_assert_eq!(summary.degraded, degrade);
        prop_assert!(degrade || summary.verdict == Verdict::Failed);
    }
}

/// Three workers, the second of which was lost with so many requests unknown and two not sent.
fn losing(planned: usize, unknown: u64, degrade: bool) -> Workers {
    let mut workers = fixtures::workers(planned, 3);
    workers.on_loss = if degrade { OnLoss::Degrade } else { OnLoss::Fail };
    workers.parts[1].lost = Some(Loss {
        at_ns: Some(2_500_000_000),
        unknown,
        not_sent: 2,
    });
    workers
}

/// A run whose second of three workers was lost: two of its requests were not sent, and five are unknown.
fn with_a_loss(degrade: bool) -> Summary {
    let mut outcomes = fixtures::by_workers(fixtures::streamed(0..300), 3);
    let is_unknown = |outcome: &Outcome| outcome.worker == 1 && (270..285).contains(&outcome.request);
    outcomes.retain(|outcome| !is_unknown(outcome));
    for outcome in outcomes
        .iter_mut()
        .filter(|outcome| outcome.worker == 1)
        .rev()
        .take(2)
    {
        outcome.ending = Ending::NotSent(NotSentReason::WorkerLost);
        outcome.times = Times {
            recorded: outcome.times.recorded,
            due: outcome.times.due,
            ..Times::default()
        };
    }
    summary_with(input_of(300, losing(300, 5, degrade)), &outcomes)
}

#[test]
fn a_lost_worker_fails_the_run_unless_it_may_degrade() {
    let failed = with_a_loss(false);
    assert_eq!((failed.verdict, failed.degraded), (Verdict::Failed, false));
    let degraded = with_a_loss(true);
    assert_eq!((degraded.verdict, degraded.degraded), (Verdict::Succeeded, true));
    assert_eq!(codes(&degraded), ["WorkerLost"]);
    assert_eq!(degraded.counts.not_sent_by_reason["workerLost"], 2);
    insta::assert_snapshot!(format!(
        "{}\n{}",
        failed.message.unwrap_or_default(),
        degraded.warnings[0].message
    ));
    assert_eq!(
        (failed.counts, failed.metrics),
        (degraded.counts, degraded.metrics)
    );
}

#[test]
fn requests_that_no_loss_explains_are_a_fault_even_where_loss_is_borne() {
    let outcomes = fixtures::streamed(0..200);
    let summary = summary_with(input_of(206, losing(206, 5, true)), &outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert!(
        summary
            .message
            .unwrap()
            .starts_with("6 of 206 planned requests are unaccounted for")
    );
}

#[test]
fn a_deadline_that_passed_is_told_as_one() {
    let mut outcomes = fixtures::streamed(0..150);
    for outcome in &mut outcomes[100..] {
        outcome.ending = Ending::NotSent(NotSentReason::DeadlinePassed);
        outcome.times = Times::default();
    }
    let input = Input {
        ended_by: EndedBy::Deadline,
        ..fixtures::input(150)
    };
    let summary = summary_with(input, &outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some("The run's deadline passed after 100 of 150 measured requests.")
    );
}

#[test]
fn workers_and_their_clocks_are_in_the_result() {
    let outcomes = fixtures::by_workers(fixtures::streamed(0..200), 2);
    let summary = summary_with(input_of(200, fixtures::workers(200, 2)), &outcomes);
    insta::assert_json_snapshot!((&summary.workers, &summary.split, &summary.clock_error));
    assert_eq!(codes(&summary), Vec::<&str>::new());
}

#[test]
fn saturation_names_the_workers_that_were_late() {
    let mut outcomes = fixtures::by_workers(fixtures::streamed(0..300), 3);
    for outcome in outcomes.iter_mut().filter(|outcome| outcome.worker == 2) {
        outcome.times.sent = outcome.times.due.map(|due| due + 80_000_000);
    }
    let summary = summary_with(input_of(300, fixtures::workers(300, 3)), &outcomes);
    let saturated = summary
        .warnings
        .iter()
        .find(|warning| warning.code == "GeneratorSaturated");
    let message = &saturated.unwrap().message;
    assert!(
        message.contains("Lag p99 is above the limit only at worker 2."),
        "{message}"
    );
}
