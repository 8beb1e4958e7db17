use std::collections::HashMap;
use std::io::Cursor;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::LazyLock;

use bytes::Bytes;
use proptest::prelude::*;
use reprise_contract::protocol::Capacity;

use super::*;
use crate::digest;
use crate::piece::{Absent, Piece, Slot, TextId};
use crate::schedule::{LeftOut, Mode, Request, Schedule};
use crate::store::{Content, Origin, Writer};
use crate::template::{Api, Exchange, ModelRewrite, Template, render};
use crate::turn::{Body, Turn};

const MS: i64 = 1_000_000;

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// Sessions as the offsets of their turns in milliseconds; `None` is due at once after the turn before.
type Sessions = Vec<Vec<Option<i64>>>;

/// The schedule of these sessions, and the session of each request.
fn schedule(sessions: &Sessions) -> (Schedule, Vec<u32>) {
    let mut turns = Vec::new();
    for (session, offsets) in (0_u32..).zip(sessions) {
        let mut reached = 0;
        for (place, offset) in (0_u32..).zip(offsets) {
            let offset = if place == 0 {
                Some(offset.unwrap_or(0))
            } else {
                *offset
            };
            reached = offset.unwrap_or(reached).max(reached);
            turns.push((reached, session, place, offset));
        }
    }
    turns.sort_by_key(|(reached, ..)| *reached);
    let mut latest = vec![None; sessions.len()];
    let mut requests: Vec<Request> = Vec::new();
    for (index, (_, session, place, offset)) in (0..).zip(&turns) {
        if let Some(previous) = latest[*session as usize].replace(index) {
            let previous: u32 = previous;
            requests[previous as usize].next = Some(index);
        }
        requests.push(Request {
            turn: index,
            offset_ns: offset.map(|offset| offset * MS),
            delay_ns: 0,
            next: None,
            place: *place,
            is_warmup: index < 3,
        });
    }
    let schedule = Schedule {
        mode: Mode::Recorded,
        requests,
        left_out: LeftOut::default(),
    };
    (
        schedule,
        turns.into_iter().map(|(_, session, ..)| session).collect(),
    )
}

fn single_turns(offsets_ms: impl IntoIterator<Item = i64>) -> Schedule {
    schedule(&offsets_ms.into_iter().map(|offset| vec![Some(offset)]).collect()).0
}

fn requests_of(split: &Split) -> Vec<u32> {
    split.peaks.iter().map(|peaks| peaks.requests).collect()
}

fn some_sessions() -> impl Strategy<Value = Sessions> {
    let turn = prop_oneof![3 => (0_i64..5_000).prop_map(Some), 1 => Just(None)];
    let burst = (0_i64..3).prop_map(|second| vec![Some(second * 1_000)]);
    let session = prop_oneof![2 => prop::collection::vec(turn, 1..6), 1 => burst];
    prop::collection::vec(session, 0..60)
}

/// A small shard as it goes over the wire.
static WRITTEN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (schedule, session_of) = schedule(&vec![vec![Some(1), None], vec![Some(2)]]);
    written(&content(folder.path(), &session_of), &schedule, &[0, 1, 2])
});

proptest! {
    #[test]
    fn parts_make_up_the_plan_and_sessions_stay_whole(sessions in some_sessions(), count in 1_u32..12) {
        let (schedule, session_of) = schedule(&sessions);
        let split = split(&schedule, workers(count));
        prop_assert_eq!(split.shards.len(), count as usize);
        let mut all: Vec<u32> = split.shards.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..).take(schedule.requests.len()).collect::<Vec<u32>>());
        let mut owner = HashMap::new();
        for (worker, numbers) in split.shards.iter().enumerate() {
            prop_assert!(numbers.is_sorted_by(|one, next| one < next));
            for number in numbers {
                prop_assert_eq!(*owner.entry(session_of[*number as usize]).or_insert(worker), worker);
            }
        }
        prop_assert_eq!(split, super::split(&schedule, workers(count)));
    }

    #[test]
    fn single_turns_are_spread_to_within_one_in_every_second(mut offsets in prop::collection::vec(0_i64..4_000, 1..300), count in 1_u32..9) {
        offsets.sort_unstable();
        let schedule = single_turns(offsets.clone());
        let split = split(&schedule, workers(count));
        for second in 0..4 {
            let start = offsets[0] + second * 1_000;
            let within = |number: &&u32| {
                let offset = offsets[**number as usize];
                (start..start + 1_000).contains(&offset)
            };
            let counts: Vec<_> = split.shards.iter().map(|numbers| numbers.iter().filter(within).count()).collect();
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
    }

    #[test]
    fn what_was_changed_or_cut_on_the_way_is_refused(place in any::<prop::sample::Index>(), flip in 1_u8.., cut in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = WRITTEN.clone();
        let place = place.index(bytes.len());
        if cut {
            bytes.truncate(place);
        } else {
            bytes[place] ^= flip;
        }
        let error = read(Cursor::new(bytes), folder.path()).err().unwrap();
        prop_assert!(matches!(error, ShardError::Damaged), "{error}");
    }
}

proptest! {
    // Each case makes the corpus several times.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_part_sends_what_the_whole_would(sessions in some_sessions(), count in 1_u32..5, api in prop_oneof![Just(Api::Chat), Just(Api::Completions)]) {
        let folder = tempfile::tempdir().unwrap();
        let (schedule, session_of) = schedule(&sessions);
        let content = content(folder.path(), &session_of);
        let split = split(&schedule, workers(count));
        for numbers in &split.shards {
            let shard = read(Cursor::new(written(&content, &schedule, numbers)), folder.path()).unwrap();
            prop_assert_eq!(&shard.numbers, numbers);
            prop_assert_eq!(shard.whole_content, content.digest());
            check_part(&content, &schedule, &shard, &template(api));
        }
    }
}

/// Everything that a worker sees of its part is as in the whole.
fn check_part(content: &Content, schedule: &Schedule, shard: &Shard, template: &Template) {
    let exchange = |turn| Exchange {
        turn,
        answer: Bytes::from_static(b"so it is"),
    };
    let mut earlier: HashMap<u32, (Vec<Exchange>, Vec<Exchange>)> = HashMap::new();
    for (index, number) in shard.numbers.iter().enumerate() {
        let (part, whole) = (
            &shard.schedule.requests[index],
            &schedule.requests[*number as usize],
        );
        let timing = |request: &Request| {
            (
                request.offset_ns,
                request.delay_ns,
                request.place,
                request.is_warmup,
            )
        };
        assert_eq!(timing(part), timing(whole));
        let next = part.next.map(|next| shard.numbers[next as usize]);
        assert_eq!(next, whole.next);
        let (in_part, in_whole) = (shard.content.turn(part.turn), content.turn(whole.turn));
        let facts = |turn: &crate::store::TurnRef<'_>| {
            (
                turn.session(),
                turn.line(),
                turn.recorded_ns(),
                turn.input_tokens(),
            )
        };
        assert_eq!(facts(&in_part), facts(&in_whole));
        assert_eq!(in_part.request_id(), in_whole.request_id());
        assert!(in_part.headers().eq(in_whole.headers()));
        let (of_part, of_whole) = earlier.entry(in_part.session()).or_default();
        assert_eq!(
            render(template, &shard.content, part.turn, of_part),
            render(template, content, whole.turn, of_whole)
        );
        of_part.push(exchange(part.turn));
        of_whole.push(exchange(whole.turn));
    }
}

fn template(api: Api) -> Template {
    Template {
        api,
        model: Some("m".to_owned()),
        rewrite: ModelRewrite {
            override_all: Some("other".to_owned()),
            ..ModelRewrite::default()
        },
        streaming: Some(true),
        match_output_length: true,
    }
}

fn written(content: &Content, schedule: &Schedule, numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(content, schedule, numbers, &mut bytes).unwrap();
    bytes
}

/// Content with a turn a request, of each kind of body in turn.
fn content(folder: &Path, session_of: &[u32]) -> Content {
    let mut writer = Writer::create(folder).unwrap();
    for (line, session) in (0..).zip(session_of) {
        writer.push(&turn(*session, line)).unwrap();
    }
    let origin = Origin {
        trace_digest: digest::of(b"trace"),
        format: "workload_trace".to_owned(),
        options: std::iter::once(("blockSize".to_owned(), "512".to_owned())).collect(),
        corpus: crate::corpus::NAME.to_owned(),
        seed: 7,
    };
    writer.finish(origin).unwrap()
}

fn turn(session: u32, line: u32) -> Turn {
    let corpus = |id| Piece::Corpus {
        id: TextId::shared(id).unwrap(),
        tokens: 9,
    };
    // A session has bodies of one kind, as a trace has them.
    let body = match session % 3 {
        0 => Body::Prompt {
            pieces: vec![corpus(i64::from(line)), corpus(3)],
            extra: (line.is_multiple_of(2)).then(|| Bytes::from_static(b"\"n\":1")),
        },
        1 => Body::Prompt {
            pieces: vec![Piece::Literal(Bytes::from(format!("word {line}")))],
            extra: None,
        },
        _ => Body::Recorded {
            pieces: vec![
                Piece::Literal(Bytes::from_static(b"{\"model\":")),
                Piece::Slot(Slot::Model(Bytes::from_static(b"\"gpt-4\""))),
                Piece::Literal(Bytes::from_static(b",\"max_tokens\":")),
                Piece::Slot(Slot::MaxTokens(Bytes::from_static(b"7"))),
                Piece::Slot(Slot::Tail(Absent {
                    stream: true,
                    ignore_eos: true,
                    ..Absent::default()
                })),
                Piece::Literal(Bytes::from_static(b"}")),
            ],
        },
    };
    Turn {
        session,
        line: line + 1,
        recorded_ns: (!line.is_multiple_of(4)).then_some(i64::from(line) * MS),
        delay_ns: (line.is_multiple_of(4)).then_some(5),
        input_tokens: Some(18),
        output_tokens: (!line.is_multiple_of(3)).then_some(line),
        request_id: (line.is_multiple_of(2)).then(|| format!("req-{line}")),
        headers: vec![("x-tag".to_owned(), line.to_string())],
        is_constrained: line.is_multiple_of(5),
        body,
    }
}

#[test]
fn messages_arrive_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path()).unwrap();
    let messages = Bytes::from_static(br#"[{"role":"user","content":"hi"}]"#);
    for line in 0..2 {
        let body = Body::Messages {
            messages: messages.clone(),
            extra: Some(Bytes::from_static(b"\"top_p\":0.9")),
        };
        writer
            .push(&Turn {
                body,
                ..turn(line, line)
            })
            .unwrap();
    }
    let content = writer
        .finish(content(folder.path(), &[0]).head().origin.clone())
        .unwrap();
    let schedule = single_turns([0, 5]);
    let shard = read(Cursor::new(written(&content, &schedule, &[1])), folder.path()).unwrap();
    check_part(&content, &schedule, &shard, &template(Api::Chat));
}

#[test]
fn a_part_of_many_batches_arrives_whole() {
    let folder = tempfile::tempdir().unwrap();
    let session_of: Vec<u32> = (0..20_000).collect();
    let content = content(folder.path(), &session_of);
    let schedule = single_turns((0..20_000).map(|request| request / 10));
    let split = split(&schedule, workers(2));
    for numbers in &split.shards {
        let shard = read(Cursor::new(written(&content, &schedule, numbers)), folder.path()).unwrap();
        check_part(&content, &schedule, &shard, &template(Api::Chat));
    }
}

#[test]
fn an_empty_part_arrives_too() {
    let folder = tempfile::tempdir().unwrap();
    let content = content(folder.path(), &[0]);
    let schedule = single_turns([0]);
    let shard = read(Cursor::new(written(&content, &schedule, &[])), folder.path()).unwrap();
    assert_eq!((shard.content.len(), shard.schedule.requests.len()), (0, 0));
}

#[test]
fn a_request_that_the_plan_does_not_have_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let content = content(folder.path(), &[0]);
    let error = write(&content, &single_turns([0]), &[1], Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the schedule has no request 1");
}

#[test]
fn a_sink_that_refuses_says_why() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let error = write(&content(folder.path(), &[0]), &single_turns([0]), &[0], Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn more_workers_than_sessions_leave_some_without() {
    let (schedule, _) = schedule(&vec![vec![Some(0), Some(10), Some(20)], vec![Some(5)]]);
    let split = split(&schedule, workers(4));
    assert_eq!(requests_of(&split), [3, 1, 0, 0]);
    let Balance { least, most, mean } = split.balance();
    assert_eq!((least, most), (0, 3));
    assert!((mean - 1.0).abs() < 1e-9);
}

#[test]
fn a_giant_session_has_a_worker_for_itself() {
    let giant = (0..1_000).map(|turn| Some(turn * 10)).collect();
    let others = (0..300).map(|session| vec![Some(session * 30)]);
    let (schedule, _) = schedule(&std::iter::once(giant).chain(others).collect());
    assert_eq!(requests_of(&split(&schedule, workers(4))), [1_000, 100, 100, 100]);
}

#[test]
fn a_burst_is_shared_although_the_rest_is_not_even() {
    // The first session keeps its worker busy only in the first second.
    let busy = (0..50).map(|turn| Some(turn * 10)).collect();
    let burst = (0..40).map(|_| vec![Some(9_000)]);
    let (schedule, _) = schedule(&std::iter::once(busy).chain(burst).collect());
    let split = split(&schedule, workers(2));
    let in_burst: Vec<_> = split.peaks.iter().map(|peaks| peaks.busiest_moment).collect();
    assert_eq!(in_burst, [20, 20]);
}

#[test]
fn long_schedules_and_many_workers_need_little_memory() {
    // Half a year of requests, one a day, and a thousand workers.
    let schedule = single_turns((0..180).map(|day| day * 86_400_000));
    assert_eq!(split(&schedule, workers(1_000)).balance().most, 1);
}

#[test]
fn peaks_are_of_any_stretch_and_not_of_whole_seconds() {
    let peaks = Peaks::of(&single_turns([0, 900, 940, 949, 950, 1_899, 1_900]));
    assert_eq!(
        peaks,
        Peaks {
            requests: 7,
            busiest_second: 5,
            busiest_moment: 3,
            span: std::time::Duration::from_millis(1_900),
        }
    );
    assert_eq!(Peaks::of(&single_turns([])), Peaks::default());
}

#[test]
fn a_turn_counts_when_the_one_before_lets_it() {
    let (schedule, _) = schedule(&vec![vec![Some(5_000), None], vec![Some(5_010)]]);
    assert_eq!(Peaks::of(&schedule).busiest_moment, 3);
}

#[test]
fn a_closed_loop_asks_for_its_sessions_and_for_no_rate() {
    let schedule = Schedule {
        mode: Mode::Concurrency(workers(4)),
        ..single_turns((0..9).map(|_| 0))
    };
    let peaks = Peaks::of(&schedule);
    assert_eq!((peaks.busiest_second, peaks.busiest_moment), (0, 4));
}

fn capacity(requests_per_second: u32, connections: u32) -> Capacity {
    Capacity {
        threads: 1,
        requests_per_second,
        connections,
    }
}

#[test]
fn workers_are_enough_with_head_room_and_no_less() {
    let split = split(&single_turns((0..200).map(|request| request * 5)), workers(2));
    let check =
        |second, connections| enough(&split, &[capacity(1_000, 1_000), capacity(second, connections)]);
    assert_eq!(check(125, 5), Ok(()));
    insta::assert_snapshot!(format!(
        "{}\n{}",
        check(124, 5).unwrap_err(),
        check(125, 4).unwrap_err()
    ),);
    assert_eq!(enough(&split, &[]), Ok(()));
}

#[test]
fn a_number_of_workers_comes_with_its_reason() {
    let peaks = Peaks::of(&single_turns(0..1_000));
    let auto = |second, connections, cores| {
        let Chosen { workers, reason } = auto(peaks, capacity(second, connections), workers(cores));
        format!("{workers}: {reason}")
    };
    insta::assert_snapshot!(
        [
            auto(5_000, 100, 8),
            auto(400, 100, 8),
            auto(5_000, 20, 8),
            auto(400, 100, 2)
        ]
        .join("\n"),
    );
}
