use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use crate::outcome::{Ending, FailureCause, Gaps, NotSentReason, Phase, Times, TokenSource, Tokens};

fn head() -> impl Strategy<Value = BatchHead> {
    let sample =
        (any::<i64>(), any::<i64>(), any::<u64>()).prop_map(|(local_ns, manager_ns, round_trip_ns)| {
            ClockSample {
                local_ns,
                manager_ns,
                round_trip_ns,
            }
        });
    let stopped = prop_oneof![
        Just(None),
        Just(Some(Stop::Cancelled)),
        ".*".prop_map(|message| Some(Stop::Aborted { message })),
    ];
    let numbers = (
        any::<u64>(),
        any::<Option<i64>>(),
        any::<u32>(),
        any::<i64>(),
        any::<bool>(),
        any::<bool>(),
    );
    let clock = prop::collection::vec(sample, 0..4);
    let gaps = prop::collection::vec(any::<u64>(), 0..20);
    (numbers, clock, gaps, stopped, "[a-z0-9.-]{1,64}").prop_map(|(numbers, clock, values, stopped, name)| {
        let (number, watermark_ns, sent, t0_local_ns, is_last, is_leaving) = numbers;
        let mut gaps = Histogram::default();
        for gap in values {
            gaps.record(gap);
        }
        BatchHead {
            incarnation: Incarnation::try_from(name).unwrap(),
            number,
            watermark_ns,
            sent,
            t0_local_ns,
            clock,
            gaps,
            is_last,
            stopped,
            is_leaving,
        }
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let ending = prop::sample::select(vec![
        Ending::Completed,
        Ending::Cancelled,
        Ending::Dropped,
        Ending::Failed(FailureCause::Timeout),
        Ending::NotSent(NotSentReason::DeadlinePassed),
    ]);
    let texts = (any::<Option<String>>(), any::<Option<String>>());
    let times = prop::array::uniform10(any::<Option<i64>>());
    let numbers = (
        any::<[u32; 4]>(),
        any::<[u64; 5]>(),
        any::<Option<u32>>(),
        any::<bool>(),
    );
    (ending, texts, times, numbers).prop_map(
        |(ending, (request_id, error), times, (words, longs, some, flag))| Outcome {
            request: words[0],
            session: words[1],
            turn: words[2],
            request_id,
            phase: if flag { Phase::Warmup } else { Phase::Measured },
            ending,
            times: Times {
                recorded: times[0],
                due: times[1],
                sent: times[2],
                headers: times[3],
                first_chunk: times[4],
                first_output: times[5],
                first_content: times[6],
                last_output: times[7],
                usage: times[8],
                done: times[9],
            },
            connect_ns: flag.then_some(longs[0]),
            gaps: Gaps {
                count: words[3],
                sum_ns: longs[0],
                min_ns: longs[1],
                max_ns: longs[2],
            },
            output_chunks: words[3],
            input_tokens: some.map(|count| Tokens {
                count,
                source: TokenSource::Trace,
            }),
            cached_tokens: some,
            output_tokens: some.map(|count| Tokens {
                count,
                source: TokenSource::ServerUsage,
            }),
            requested_output_tokens: some,
            status: flag.then_some(503),
            error,
            request_bytes: longs[3],
            answer_bytes: longs[4],
            target: 3,
            worker: words[1],
            clock_error_ns: times[0],
        },
    )
}

/// A batch as a worker sends it.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sample = |rows: usize| {
        let strategy = (head(), prop::collection::vec(outcome(), rows));
        strategy.new_tree(&mut runner).unwrap().current()
    };
    let (head, outcomes) = sample(20);
    encode(&head, &outcomes).unwrap()
});

proptest! {
    #[test]
    fn a_batch_survives_the_round_trip(head in head(), outcomes in prop::collection::vec(outcome(), 0..10)) {
        let bytes = encode(&head, &outcomes).unwrap();
        prop_assert_eq!(decode(&bytes).unwrap(), (head, outcomes));
    }

    #[test]
    fn bytes_of_no_known_origin_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn damage_is_refused_or_read_and_never_ends_the_process(
        cut in any::<Option<prop::sample::Index>>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = SOUND.clone();
        for (place, value) in edits {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // What is still a batch is held against the plan by whoever keeps it.
        if let Ok((_, outcomes)) = decode(&bytes) {
            prop_assert!(outcomes.len() <= MAX_OUTCOMES);
        }
    }
}

#[test]
fn too_many_outcomes_are_refused() {
    let (head, outcomes) = decode(&SOUND).unwrap();
    let many: Vec<_> = outcomes.into_iter().cycle().take(MAX_OUTCOMES + 1).collect();
    assert!(decode(&encode(&head, &many[1..]).unwrap()).is_ok());
    let error = decode(&encode(&head, &many).unwrap()).unwrap_err();
    assert!(matches!(error, BatchError::TooMany), "{error}");
}

#[test]
fn a_stream_without_a_head_is_refused() {
    let mut writer = StreamWriter::try_new(Vec::new(), &outcome::schema()).unwrap();
    writer.finish().unwrap();
    let error = decode(&writer.into_inner().unwrap()).unwrap_err();
    assert!(matches!(error, BatchError::Head(_)), "{error}");
}
