mod workers;

use proptest::prelude::*;
use reprise_contract::outcome::{Times, Tokens};
use reprise_contract::summary::Verdict;
use reprise_contract::{Ending, FailureCause, NotSentReason, Outcome, Phase, Summary, TokenSource};

use super::*;
use crate::fixtures;
use crate::outcomes::OutcomeWriter;

impl Outcomes for &[Outcome] {
    fn batches(
        &self,
    ) -> Result<impl Iterator<Item = Result<Vec<Outcome>, OutcomeFileError>>, OutcomeFileError> {
        Ok(self.chunks(100).map(|batch| Ok(batch.to_vec())))
    }
}

fn summary_of(outcomes: &[Outcome]) -> Summary {
    summary_with(fixtures::input(outcomes.len()), outcomes)
}

fn summary_with(input: Input, outcomes: &[Outcome]) -> Summary {
    summarise(input, &outcomes, &fixtures::gaps(outcomes)).unwrap()
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}

#[test]
fn a_clean_run_succeeds_without_a_warning() {
    let summary = summary_of(&fixtures::streamed(0..200));
    assert_eq!((summary.verdict, &summary.message), (Verdict::Succeeded, &None));
    assert_eq!(codes(&summary), Vec::<&str>::new());
    let metrics = summary.metrics.unwrap();
    for distribution in [&metrics.ttft_ms, &metrics.tpot_ms, &metrics.request_latency_ms] {
        assert_eq!(distribution.as_ref().unwrap().count, 200);
    }
    assert_eq!(metrics.dependency_wait_ms, None, "there is no second turn");
    assert_eq!(metrics.connect_ms.unwrap().count, 4);
    let throughput = summary.throughput.unwrap();
    assert!((throughput.span_s - 20.0).abs() < 0.3, "{}", throughput.span_s);
    assert!(
        (throughput.requests_per_second - 10.0).abs() < 0.2,
        "{}",
        throughput.requests_per_second
    );
}

#[test]
fn the_file_and_the_outcomes_give_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outcomes.parquet");
    let outcomes = fixtures::streamed(0..150);
    let mut writer = OutcomeWriter::create(&path).unwrap();
    writer.append(&outcomes).unwrap();
    writer.finish().unwrap();
    let from_file = analyse(fixtures::input(150), &path, &fixtures::gaps(&outcomes)).unwrap();
    assert_eq!(from_file, summary_of(&outcomes));
}

#[test]
fn one_request_is_every_percentile() {
    let summary = summary_of(&[fixtures::outcome(0)]);
    let ttft = summary.metrics.as_ref().unwrap().ttft_ms.clone().unwrap();
    assert_eq!((ttft.min, ttft.percentiles.p1), (ttft.max, ttft.percentiles.p999));
    assert_eq!(codes(&summary), ["FewValues"]);
}

#[test]
fn an_empty_plan_failed_and_has_no_number() {
    let summary = summary_of(&[]);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some("Nothing was measured: none of the 0 planned requests is a measured one.")
    );
    assert_eq!(
        (summary.metrics, summary.throughput, summary.slo, summary.lag),
        (None, None, None, None)
    );
}

#[test]
fn a_budget_that_ends_before_the_first_measured_request_is_a_failure_without_numbers() {
    let mut outcomes = fixtures::streamed(0..3);
    outcomes[0].phase = Phase::Warmup;
    for outcome in &mut outcomes[1..] {
        outcome.ending = Ending::NotSent(NotSentReason::DurationOver);
        outcome.times = Times {
            recorded: outcome.times.recorded,
            ..Times::default()
        };
    }
    let summary = summary_of(&outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some("Nothing was measured: of 2 measured requests, 2 not sent (durationOver).")
    );
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(
        (json.get("metrics"), json.get("throughput"), json.get("slo")),
        (None, None, None)
    );
    assert_eq!(summary.lag.unwrap().count, 1, "the warm-up request has a lag");
}

#[test]
fn a_target_that_refuses_fails_the_run_with_the_cause() {
    let outcomes: Vec<_> = (0..5).map(fixtures::refused).collect();
    let summary = summary_of(&outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some("All 5 measured requests failed: 5 connectionRefused (127.0.0.1:8000: connection refused).")
    );
    assert_eq!((summary.counts.failed, summary.counts.sent), (5, 0));
    assert_eq!(summary.series.failed.iter().sum::<u32>(), 5);
}

#[test]
fn a_connection_cut_mid_stream_is_in_no_success_metric() {
    let mut outcomes = fixtures::streamed(0..10);
    outcomes[4] = fixtures::cut(4);
    let summary = summary_of(&outcomes);
    let metrics = summary.metrics.unwrap();
    assert_eq!(metrics.ttft_ms.unwrap().count, 9);
    assert_eq!(metrics.request_latency_ms.unwrap().count, 9);
    assert_eq!(
        metrics.output_token_sources.keys().collect::<Vec<_>>(),
        ["serverUsage"]
    );
    assert_eq!(
        (
            summary.counts.completed,
            summary.counts.failed,
            summary.counts.sent
        ),
        (9, 1, 10)
    );
    let slo = summary.slo.unwrap();
    assert_eq!((slo.good, slo.good_share), (9, 0.9));
}

#[test]
fn answers_without_output_are_told_and_fail_the_run_when_all_are() {
    let mut outcomes = fixtures::streamed(0..200);
    let empty = |outcome: &mut Outcome| {
        outcome.output_chunks = 0;
        outcome.times.first_output = None;
        outcome.output_tokens = Some(Tokens {
            count: 0,
            source: TokenSource::ServerUsage,
        });
    };
    outcomes[..2].iter_mut().for_each(empty);
    let summary = summary_of(&outcomes);
    assert_eq!(summary.counts.completed_without_output, 2);
    assert_eq!(summary.verdict, Verdict::Succeeded);
    assert_eq!(summary.warnings[0].code, "NoOutput");
    assert!(
        summary.warnings[0]
            .message
            .starts_with("2 completed requests bore no output"),
        "{:?}",
        summary.warnings
    );

    outcomes.iter_mut().for_each(empty);
    let summary = summary_of(&outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some("The endpoint answered, but with no output: none of 200 completed requests bore any.")
    );
}

#[test]
fn the_generators_own_limit_fails_the_run_however_it_ended() {
    let mut outcomes = fixtures::streamed(0..200);
    outcomes[7] = Outcome {
        ending: Ending::Failed(FailureCause::LocalLimit),
        error: Some("too many open files".to_owned()),
        ..fixtures::refused(7)
    };
    for ended_by in [EndedBy::Completion, EndedBy::Cancel] {
        let input = Input {
            ended_by,
            ..fixtures::input(200)
        };
        let summary = summary_with(input, &outcomes);
        assert_eq!(summary.verdict, Verdict::Failed);
        assert_eq!(
            summary.message.as_deref(),
            Some(
                "The generator ran out of file descriptors or local ports for 1 of 200 measured requests (too many open \
                 files); its numbers say nothing about the endpoint."
            )
        );
        assert_eq!(codes(&summary)[0], "GeneratorLimit");
        let advice = &summary.warnings[0].message;
        assert!(
            advice.starts_with("1 measured request found") && advice.contains("ulimit -n"),
            "{advice}"
        );
    }
}

#[test]
fn what_is_unaccounted_for_fails_the_run_with_the_arithmetic() {
    let mut outcomes = fixtures::streamed(0..6);
    outcomes[0].phase = Phase::Warmup;
    let summary = summary_with(fixtures::input(10), &outcomes);
    assert_eq!(summary.verdict, Verdict::Failed);
    assert_eq!(
        summary.message.as_deref(),
        Some(
            "4 of 10 planned requests are unaccounted for: 1 warm-up + 5 completed + 0 failed + 0 cancelled + 0 dropped + 0 \
             not sent = 6."
        )
    );
}

#[test]
fn a_cancelled_run_keeps_its_numbers() {
    let mut outcomes = fixtures::streamed(0..10);
    outcomes[8].ending = Ending::Cancelled;
    outcomes[8].times.done = None;
    outcomes[9].ending = Ending::NotSent(NotSentReason::RunCancelled);
    outcomes[9].times = Times {
        recorded: outcomes[9].times.recorded,
        ..Times::default()
    };
    let cancelled = |outcomes: &[Outcome]| {
        summary_with(
            Input {
                ended_by: EndedBy::Cancel,
                ..fixtures::input(outcomes.len())
            },
            outcomes,
        )
    };
    let summary = cancelled(&outcomes);
    assert_eq!(summary.verdict, Verdict::Cancelled);
    assert_eq!(
        summary.message.as_deref(),
        Some("The run was cancelled after 8 of 10 measured requests.")
    );
    assert_eq!(summary.metrics.unwrap().request_latency_ms.unwrap().count, 8);

    let summary = cancelled(
        &outcomes[9..]
            .iter()
            .cloned()
            .map(|outcome| Outcome {
                request: 0,
                ..outcome
            })
            .collect::<Vec<_>>(),
    );
    assert_eq!(summary.verdict, Verdict::Cancelled);
    assert!(summary.message.unwrap().contains("Nothing was measured"));
}

#[test]
fn an_abort_fails_the_run_with_its_message() {
    let message = "Request 3 was 80 ms late, and latePolicy is Abort.".to_owned();
    let ended_by = EndedBy::Abort {
        message: message.clone(),
    };
    let summary = summary_with(
        Input {
            ended_by,
            ..fixtures::input(10)
        },
        &fixtures::streamed(0..10),
    );
    assert_eq!(
        (summary.verdict, summary.message),
        (Verdict::Failed, Some(message))
    );
    assert!(summary.metrics.is_some(), "what was measured is reported");
}

#[test]
fn a_late_generator_is_told() {
    let mut outcomes = fixtures::streamed(0..200);
    outcomes[3].times.due = outcomes[3].times.due.map(|due| due - 60_000_000);
    let summary = summary_of(&outcomes);
    assert_eq!(codes(&summary), ["LateRequests"]);
    assert!(
        summary.warnings[0]
            .message
            .starts_with("1 of 200 requests (0.50 %)"),
        "{:?}",
        summary.warnings
    );

    for outcome in &mut outcomes {
        outcome.times.due = outcome.times.due.map(|due| due - 60_000_000);
    }
    assert_eq!(codes(&summary_of(&outcomes)), ["GeneratorSaturated"]);
}

#[test]
fn dropped_requests_are_told_and_not_good() {
    let mut outcomes = fixtures::streamed(0..200);
    for outcome in &mut outcomes[50..100] {
        outcome.ending = Ending::Dropped;
        outcome.times = Times {
            recorded: outcome.times.recorded,
            due: outcome.times.due,
            ..Times::default()
        };
    }
    let mut input = fixtures::input(200);
    input.limits.slo = Some(Slo {
        request_latency: Some(Duration::MAX),
        ..Slo::default()
    });
    let summary = summary_with(input, &outcomes);
    assert_eq!(codes(&summary), ["RequestsDropped"]);
    assert_eq!((summary.counts.dropped, summary.counts.sent), (50, 150));
    let slo = summary.slo.unwrap();
    assert_eq!((slo.good, slo.good_share), (150, 0.75));
}

#[test]
fn token_counts_of_several_sources_are_told() {
    let mut outcomes = fixtures::streamed(0..200);
    outcomes[3].output_tokens = Some(Tokens {
        count: 12,
        source: TokenSource::ChunkCount,
    });
    outcomes[4].output_tokens = Some(Tokens {
        count: 1,
        source: TokenSource::ServerUsage,
    });
    let summary = summary_of(&outcomes);
    assert_eq!(
        codes(&summary),
        [
            "MixedTokenSources",
            "ChunksCountedAsTokens",
            "OutputLengthMismatch",
            "OutputLengthUnchecked"
        ]
    );
    assert_eq!(summary.counts.output_length_mismatches, 1);
    assert_eq!(summary.metrics.unwrap().tpot_ms.unwrap().count, 199);
}

#[test]
fn without_streaming_there_is_no_first_token() {
    let outcomes: Vec<_> = (0..120).map(fixtures::unstreamed).collect();
    let summary = summary_of(&outcomes);
    let metrics = summary.metrics.as_ref().unwrap();
    assert_eq!(
        (
            &metrics.ttft_ms,
            &metrics.tpot_ms,
            &metrics.inter_chunk_latency_ms
        ),
        (&None, &None, &None)
    );
    assert_eq!(metrics.request_latency_ms.as_ref().unwrap().count, 120);
    assert_eq!(codes(&summary), ["SloValueMissing"]);
    assert_eq!(summary.slo.unwrap().good, 0);
}

#[test]
fn a_histogram_of_other_gaps_is_told() {
    let outcomes = fixtures::streamed(0..200);
    let gaps = fixtures::gaps(&outcomes[1..]);
    let summary = summarise(fixtures::input(200), &&outcomes[..], &gaps).unwrap();
    assert_eq!(codes(&summary), ["InterChunkGapsDiffer"]);
}

#[test]
fn the_cached_share_is_over_requests_that_tell_it() {
    let mut outcomes = fixtures::streamed(0..4);
    for (outcome, (count, cached)) in
        outcomes
            .iter_mut()
            .zip([(100, Some(50)), (300, Some(250)), (900, None), (0, None)])
    {
        outcome.input_tokens = Some(Tokens {
            count,
            source: TokenSource::ServerUsage,
        });
        outcome.cached_tokens = cached;
    }
    assert_eq!(
        summary_of(&outcomes).metrics.unwrap().cached_input_share,
        Some(0.75)
    );
}

fn any_ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        4 => Just(Ending::Completed),
        1 => Just(Ending::Failed(FailureCause::Timeout)),
        1 => Just(Ending::Failed(FailureCause::ConnectionRefused)),
        1 => Just(Ending::Failed(FailureCause::LocalLimit)),
        1 => Just(Ending::Cancelled),
        1 => Just(Ending::Dropped),
        1 => Just(Ending::NotSent(NotSentReason::DurationOver)),
        1 => Just(Ending::NotSent(NotSentReason::AnswerMissing)),
    ]
}

prop_compose! {
    fn any_outcome()(
        ending in any_ending(),
        warmup in prop::bool::weighted(0.2),
        session in 0..6_u32,
        times in prop::collection::vec(prop::option::weighted(0.8, -5_000_000_000..90_000_000_000_i64), 10),
        tokens in prop::option::of((0..50_u32, 0..4_usize)),
        requested in prop::option::of(0..50_u32),
        turn in 0..2_u32,
        output_chunks in 0..2_u32,
    ) -> Outcome {
        let sources =
            [TokenSource::ServerUsage, TokenSource::ServerTotal, TokenSource::ChunkCount, TokenSource::Trace];
        let tokens = tokens.map(|(count, source)| Tokens { count, source: sources[source] });
        Outcome {
            session,
            turn,
            ending,
            phase: if warmup { Phase::Warmup } else { Phase::Measured },
            times: Times {
                recorded: times[0], due: times[1], sent: times[2], headers: times[3], first_chunk: times[4],
                first_output: times[5], first_content: times[6], last_output: times[7], usage: times[8], done: times[9],
            },
            output_chunks,
            input_tokens: tokens,
            output_tokens: tokens,
            requested_output_tokens: requested,
            ..fixtures::outcome(0)
        }
    }
}

proptest! {
    /// Whatever the outcomes, even with times that no clock could tell: every request is in one count, and no number is
    /// made up.
    #[test]
    fn every_request_is_accounted_for_once(
        mut outcomes in prop::collection::vec(any_outcome(), 0..60),
        lost in 0..3_u64,
    ) {
        for (request, outcome) in (0..).zip(&mut outcomes) {
            outcome.request = request;
        }
        let planned = outcomes.len() + usize::try_from(lost).unwrap();
        let summary = summary_with(fixtures::input(planned), &outcomes);
        let counts = &summary.counts;
        prop_assert_eq!(counts.planned, counts.warmup + counts.measured + counts.unknown);
        prop_assert_eq!(
            counts.measured,
            counts.completed + counts.failed + counts.cancelled + counts.dropped + counts.not_sent
        );
        prop_assert_eq!(counts.failures.values().map(|failure| failure.count).sum::<u64>(), counts.failed);
        prop_assert_eq!(counts.not_sent_by_reason.values().sum::<u64>(), counts.not_sent);
        prop_assert_eq!(counts.unknown, lost);
        prop_assert_eq!(summary.metrics.is_some(), counts.completed > 0);
        let has_output = counts.completed_without_output < counts.completed;
        let has_local_limit = counts.failures.contains_key(FailureCause::LocalLimit.name());
        prop_assert_eq!(
            summary.verdict == Verdict::Succeeded,
            has_output && lost == 0 && !has_local_limit
        );
        let json = serde_json::to_string(&summary).unwrap();
        prop_assert!(serde_json::from_str::<Summary>(&json).is_ok(), "a number that is none turns to null");
        for rows in [&summary.series.sent, &summary.series.recorded, &summary.series.in_flight] {
            prop_assert!(rows.len() <= 300);
            prop_assert_eq!(rows.len(), summary.series.completed.len());
        }
    }
}
