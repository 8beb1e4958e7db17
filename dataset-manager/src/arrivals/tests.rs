//! Batches on their way to the file.

use std::collections::BTreeMap;

use bytes::Bytes;
use reprise_content::schedule::{LeftOut, Request};
use reprise_content::store::{Origin, Writer};
use reprise_content::turn::{Body, Turn};
use reprise_contract::outcome::Times;
use reprise_contract::plan::Mode;
use reprise_contract::protocol::{ClockSample, Incarnation};
use reprise_contract::{Digest, Ending, Gaps, NotSentReason, Phase};
use reprise_report::OutcomeReader;
use tempfile::TempDir;

use super::*;

const MS: i64 = 1_000_000;
/// The manager's clock at T0.
const T0_NS: i64 = 50_000 * MS;

/// Sessions 0 and 2 of single turns, and session 1 of two turns of which the second is due 5 ms after the first.
fn planned(folder: &TempDir) -> Planned {
    let mut writer = Writer::create(folder.path()).unwrap();
    for (line, session) in (1..).zip([0, 1, 2, 1]) {
        let turn = Turn {
            session,
            line,
            recorded_ns: None,
            delay_ns: None,
            input_tokens: None,
            output_tokens: None,
            request_id: Some(format!("line-{line}")),
            headers: Vec::new(),
            is_constrained: false,
            body: Body::Messages {
                messages: Bytes::from_static(b"[]"),
                extra: None,
            },
        };
        writer.push(&turn).unwrap();
    }
    let origin = Origin {
        trace_digest: Digest::from_bytes([0; 32]),
        format: String::new(),
        options: BTreeMap::new(),
        corpus: String::new(),
        seed: 0,
    };
    let request = |turn, offset_ms: Option<i64>, place, next| Request {
        turn,
        offset_ns: offset_ms.map(|ms| ms * MS),
        delay_ns: if place > 0 { 5 * MS.unsigned_abs() } else { 0 },
        next,
        place,
        is_warmup: turn == 0,
    };
    Planned {
        content: writer.finish(origin).unwrap(),
        schedule: Arc::new(Schedule {
            mode: Mode::Recorded,
            requests: vec![
                request(0, Some(0), 0, None),
                request(1, Some(10), 0, Some(3)),
                request(2, Some(20), 0, None),
                request(3, None, 1, None),
            ],
            left_out: LeftOut::default(),
        }),
        shards: [[0, 2].into(), [1, 3].into()].into(),
    }
}

fn start(folder: &TempDir) -> Arrivals {
    Arrivals::start(folder.path().join("outcomes.parquet"), planned(folder)).unwrap()
}

/// The outcome of a request that was due then and took 3 ms, in local time.
fn outcome(request: u32, due_ms: i64) -> Outcome {
    let (session, turn, recorded) = match request {
        3 => (1, 1, None),
        session => (session, 0, Some(due_ms * MS)),
    };
    Outcome {
        request,
        session,
        turn,
        request_id: None,
        phase: if request == 0 {
            Phase::Warmup
        } else {
            Phase::Measured
        },
        ending: Ending::Completed,
        times: Times {
            recorded,
            due: Some(due_ms * MS),
            sent: Some(due_ms * MS + 7),
            done: Some((due_ms + 3) * MS),
            ..Times::default()
        },
        connect_ns: None,
        gaps: Gaps::default(),
        output_chunks: 0,
        input_tokens: None,
        cached_tokens: None,
        output_tokens: None,
        requested_output_tokens: None,
        status: Some(200),
        error: None,
        request_bytes: 0,
        answer_bytes: 0,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}

/// A batch of a worker whose clock is 7 s ahead of the manager's, and which understood T0 2 ms late.
fn arrival(index: u32, outcomes: Vec<Outcome>) -> Arrival {
    let ahead_ns = 7_000 * MS;
    let mut gaps = Histogram::default();
    gaps.record(1);
    Arrival {
        index,
        head: BatchHead {
            incarnation: Incarnation::try_from("a".to_owned()).unwrap(),
            number: 0,
            watermark_ns: None,
            sent: 0,
            t0_local_ns: T0_NS + ahead_ns + 2 * MS,
            clock: vec![ClockSample {
                local_ns: T0_NS + ahead_ns,
                manager_ns: T0_NS,
                round_trip_ns: 10,
            }],
            gaps,
            is_last: false,
            stopped: None,
            is_leaving: false,
        },
        outcomes,
        t0_manager_ns: Some(T0_NS),
    }
}

async fn contradiction(arrivals: &Arrivals, arrival: Arrival) -> Contradiction {
    match arrivals.keep(arrival).await.unwrap_err() {
        ArrivalError::Contradiction(contradiction) => contradiction,
        other => panic!("{other}"),
    }
}

async fn rows(arrivals: &Arrivals, lost: Vec<LostShard>) -> (Kept, Vec<Outcome>) {
    let kept = arrivals.finish(lost).await.unwrap();
    let reader = OutcomeReader::open(&kept.path).unwrap();
    let mut rows: Vec<_> = reader.flat_map(Result::unwrap).collect();
    rows.sort_by_key(|row| row.request);
    (kept, rows)
}

#[tokio::test]
async fn times_stand_in_run_time() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    let batch = vec![outcome(1, 10), outcome(3, 18)];
    let stored = arrivals.keep(arrival(1, batch)).await.unwrap();
    let counts = BatchCounts {
        outcomes: 2,
        completed: 2,
        failed: 0,
        lag_max_ns: 7,
    };
    assert_eq!(stored.counts, counts);
    assert_eq!(stored.clock.unwrap().error_ns, 5);
    let (kept, rows) = rows(&arrivals, Vec::new()).await;
    assert_eq!(kept.gaps.count(), 1);
    let due_and_done: Vec<_> = rows.iter().map(|row| (row.times.due, row.times.done)).collect();
    let clock: Vec<_> = rows.iter().map(|row| (row.worker, row.clock_error_ns)).collect();
    assert_eq!(clock, [(1, Some(2 * MS)), (1, Some(0))]);
    // A recorded time is the schedule's; without one, the clock says that T0 was understood late.
    assert_eq!(
        due_and_done,
        [(Some(10 * MS), Some(13 * MS)), (Some(20 * MS), Some(23 * MS))]
    );
}

#[tokio::test]
async fn what_contradicts_the_plan_is_kept_in_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    let changed = |change: fn(&mut Outcome)| {
        let mut outcome = outcome(2, 20);
        change(&mut outcome);
        outcome
    };
    let cases = [
        (vec![outcome(1, 10)], Contradiction::OtherShard(1)),
        (
            vec![changed(|outcome| outcome.request = 99)],
            Contradiction::OtherShard(99),
        ),
        (vec![outcome(2, 20), outcome(2, 20)], Contradiction::Twice(2)),
        (
            vec![changed(|outcome| outcome.session = 0)],
            Contradiction::OtherTurn(2),
        ),
        (
            vec![changed(|outcome| outcome.turn = 1)],
            Contradiction::OtherTurn(2),
        ),
        (
            vec![changed(|outcome| outcome.phase = Phase::Warmup)],
            Contradiction::OtherTurn(2),
        ),
    ];
    for (outcomes, expected) in cases {
        let outcomes = [vec![outcome(0, 0)], outcomes].concat();
        assert_eq!(contradiction(&arrivals, arrival(0, outcomes)).await, expected);
    }
    let times: [fn(&mut Outcome); 5] = [
        |outcome| outcome.times.due = None,
        |outcome| outcome.times.recorded = None,
        |outcome| outcome.times.done = Some(i64::MAX),
        |outcome| outcome.times.done = Some(i64::MIN),
        |outcome| outcome.times.sent = Some(-MS * 2_000),
    ];
    for change in times {
        let found = contradiction(&arrivals, arrival(0, vec![changed(change)])).await;
        assert!(matches!(found, Contradiction::Times(2, _)), "{found}");
    }
    assert_eq!(
        contradiction(&arrivals, arrival(9, Vec::new())).await,
        Contradiction::NoShard(9)
    );
    // Nothing of these was noted: the good ones are welcome.
    arrivals
        .keep(arrival(0, vec![outcome(0, 0), outcome(2, 20)]))
        .await
        .unwrap();
    assert_eq!(
        contradiction(&arrivals, arrival(0, vec![outcome(0, 0)])).await,
        Contradiction::Twice(0)
    );
    assert_eq!(rows(&arrivals, Vec::new()).await.1.len(), 2);
}

#[tokio::test]
async fn outcomes_need_a_clock_and_a_t0() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    let mut early = arrival(0, vec![outcome(0, 0)]);
    early.t0_manager_ns = None;
    assert!(matches!(
        contradiction(&arrivals, early).await,
        Contradiction::NoClock(_)
    ));
    let mut timeless = arrival(1, vec![outcome(1, 10)]);
    timeless.head.clock.clear();
    assert!(matches!(
        contradiction(&arrivals, timeless).await,
        Contradiction::NoClock(_)
    ));
}

#[tokio::test]
async fn a_clock_that_cannot_be_is_not_computed_with() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    for (local_ns, manager_ns, round_trip_ns, t0_local_ns) in [
        (i64::MAX, 0, 1, 0),
        (0, i64::MIN, 1, 0),
        (0, 0, u64::MAX, 0),
        (0, 0, 1, i64::MIN),
    ] {
        let mut hostile = arrival(0, Vec::new());
        hostile.head.t0_local_ns = t0_local_ns;
        hostile.head.clock = vec![ClockSample {
            local_ns,
            manager_ns,
            round_trip_ns,
        }];
        assert_eq!(contradiction(&arrivals, hostile).await, Contradiction::Clock);
    }
    assert!(arrivals.keep(arrival(0, Vec::new())).await.is_ok());
}

#[tokio::test]
async fn another_life_has_another_clock() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    arrivals.keep(arrival(0, Vec::new())).await.unwrap();
    let mut other = arrival(0, vec![outcome(0, 0)]);
    other.head.incarnation = Incarnation::try_from("b".to_owned()).unwrap();
    other.head.clock.clear();
    assert!(matches!(
        contradiction(&arrivals, other).await,
        Contradiction::NoClock(_)
    ));
}

#[tokio::test]
async fn what_a_lost_worker_did_not_send_is_written_and_what_it_may_have_sent_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    // Request 1 ended at 13 ms of run time, so request 3 was due at 18 ms.
    arrivals.keep(arrival(1, vec![outcome(1, 10)])).await.unwrap();
    let lost = |index, at_ms| LostShard {
        index,
        at_ns: Some(at_ms * MS),
    };
    let (kept, rows) = rows(&arrivals, vec![lost(0, 15), lost(1, 17)]).await;
    let became = |index, not_sent, unknown| LostRequests {
        index,
        not_sent,
        unknown,
    };
    assert_eq!(kept.lost, [became(0, 1, 1), became(1, 1, 0)]);
    let endings: Vec<_> = rows.iter().map(|row| (row.request, row.ending)).collect();
    let not_sent = Ending::NotSent(NotSentReason::WorkerLost);
    assert_eq!(endings, [(1, Ending::Completed), (2, not_sent), (3, not_sent)]);
    assert_eq!((rows[2].session, rows[2].turn), (1, 1));
    assert_eq!(rows[2].request_id.as_deref(), Some("line-4"));
}

#[tokio::test]
async fn after_its_end_the_file_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals = start(&folder);
    rows(&arrivals, Vec::new()).await;
    let error = arrivals.keep(arrival(0, Vec::new())).await.unwrap_err();
    assert!(matches!(error, ArrivalError::Ended), "{error}");
}

#[tokio::test]
async fn a_folder_that_vanishes_is_an_error_and_no_empty_result() {
    let folder = tempfile::tempdir().unwrap();
    let inner = tempfile::tempdir_in(folder.path()).unwrap();
    let arrivals = Arrivals::start(inner.path().join("outcomes.parquet"), planned(&folder)).unwrap();
    inner.close().unwrap();
    let error = arrivals.finish(Vec::new()).await.unwrap_err();
    assert!(matches!(error, ArrivalError::Storage(_)), "{error}");
}
