use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::digest;
use crate::piece::{Absent, Piece, Slot, TextId};
use crate::turn::{Body, Turn};

fn origin(seed: u64) -> Origin {
    Origin {
        trace_digest: digest::of(b"trace"),
        format: "mooncake_trace".to_owned(),
        options: BTreeMap::new(),
        corpus: crate::corpus::NAME.to_owned(),
        seed,
    }
}

fn turn(session: u32, line: u32, body: Body) -> Turn {
    Turn {
        session,
        line,
        recorded_ns: Some(-5),
        delay_ns: None,
        input_tokens: Some(3),
        output_tokens: None,
        request_id: Some("req".to_owned()),
        headers: vec![
            ("x-tag".to_owned(), "a".to_owned()),
            ("x-tag".to_owned(), "b".to_owned()),
        ],
        is_constrained: line == 4,
        body,
    }
}

fn samples() -> Vec<Turn> {
    let corpus = Piece::Corpus {
        id: TextId::shared(9).unwrap(),
        tokens: 512,
    };
    let slots = vec![
        Piece::Literal(Bytes::from_static(b"{\"model\":")),
        Piece::Slot(Slot::Model(Bytes::from_static(b"\"gpt-4\""))),
        Piece::Slot(Slot::MaxTokens(Bytes::from_static(b"7"))),
        Piece::Slot(Slot::IgnoreEos(Bytes::from_static(b"false"))),
        Piece::Slot(Slot::Tail(Absent {
            stream: true,
            ..Absent::default()
        })),
    ];
    vec![
        turn(
            0,
            1,
            Body::Prompt {
                pieces: vec![corpus],
                extra: Some(Bytes::from_static(b"\"n\":1")),
            },
        ),
        turn(
            1,
            2,
            Body::Messages {
                messages: Bytes::from_static(b"[]"),
                extra: None,
            },
        ),
        turn(0, 4, Body::Recorded { pieces: slots }),
    ]
}

fn write(folder: &std::path::Path, turns: &[Turn], seed: u64) -> Content {
    let mut writer = Writer::create(folder).unwrap();
    for turn in turns {
        writer.push(turn).unwrap();
    }
    writer.finish(origin(seed)).unwrap()
}

/// The owned form of what was read.
fn owned(turn: TurnRef<'_>) -> Turn {
    let extra = |bytes: Option<&[u8]>| bytes.map(Bytes::copy_from_slice);
    let body = match turn.body() {
        BodyRef::Prompt {
            pieces,
            extra: members,
        } => Body::Prompt {
            pieces: pieces.map(owned_piece).collect(),
            extra: extra(members),
        },
        BodyRef::Messages {
            mut messages,
            extra: members,
        } => {
            let Some(PieceRef::Literal(bytes)) = messages.next() else {
                panic!("messages are one literal")
            };
            Body::Messages {
                messages: Bytes::copy_from_slice(bytes),
                extra: extra(members),
            }
        }
        BodyRef::Recorded { pieces } => Body::Recorded {
            pieces: pieces.map(owned_piece).collect(),
        },
    };
    Turn {
        session: turn.session(),
        line: turn.line(),
        recorded_ns: turn.recorded_ns(),
        delay_ns: turn.delay_ns(),
        input_tokens: turn.input_tokens(),
        output_tokens: turn.output_tokens(),
        is_constrained: turn.is_constrained(),
        request_id: turn.request_id().map(str::to_owned),
        headers: turn
            .headers()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body,
    }
}

fn owned_piece(piece: PieceRef<'_>) -> Piece {
    let copy = Bytes::copy_from_slice;
    match piece {
        PieceRef::Corpus { id, tokens } => Piece::Corpus { id, tokens },
        PieceRef::Literal(bytes) => Piece::Literal(copy(bytes)),
        PieceRef::Slot(SlotRef::Model(bytes)) => Piece::Slot(Slot::Model(copy(bytes))),
        PieceRef::Slot(SlotRef::MaxTokens(bytes)) => Piece::Slot(Slot::MaxTokens(copy(bytes))),
        PieceRef::Slot(SlotRef::IgnoreEos(bytes)) => Piece::Slot(Slot::IgnoreEos(copy(bytes))),
        PieceRef::Slot(SlotRef::Tail(absent)) => Piece::Slot(Slot::Tail(absent)),
    }
}

#[test]
fn what_was_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let content = write(folder.path(), &samples(), 7);
    assert_eq!(content.turns().map(owned).collect::<Vec<_>>(), samples());
    assert_eq!(owned(content.turn(2)), samples()[2]);
    assert_eq!((content.head().turns, content.head().sessions), (3, 2));
}

#[test]
fn many_batches_are_one_content() {
    let folder = tempfile::tempdir().unwrap();
    let turns: Vec<_> = (0..40_000)
        .map(|line| {
            turn(
                line,
                line + 1,
                Body::Messages {
                    messages: Bytes::from_static(b"[]"),
                    extra: None,
                },
            )
        })
        .collect();
    let content = write(folder.path(), &turns, 0);
    for index in [0, 16_383, 16_384, 39_999] {
        assert_eq!(content.turn(index).line(), index + 1);
    }
}

#[test]
fn equal_inputs_give_equal_digests_and_another_seed_another() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), &samples(), 7).digest();
    assert_eq!(first, write(folder.path(), &samples(), 7).digest());
    assert_ne!(first, write(folder.path(), &samples(), 8).digest());
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing half-built is left"
    );
    // The digest is a promise across machines and versions: a change here needs a new BUILDER.
    insta::assert_snapshot!(first);
}

#[test]
fn an_unfinished_content_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path()).unwrap();
    writer.push(&samples()[0]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let digest = write(folder.path(), &samples(), 7).digest().to_string();
    let turns = folder.path().join(digest).join(TURNS_FILE);
    let bytes = std::fs::read(&turns).unwrap();
    for length in [0, 5, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&turns, &bytes[..length]).unwrap();
        assert!(
            Content::open(turns.parent().unwrap()).is_err(),
            "cut to {length} bytes"
        );
    }
}

proptest! {
    #[test]
    fn any_literal_survives(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let body = Body::Recorded { pieces: vec![Piece::Literal(Bytes::from(bytes))] };
        let turns = vec![turn(0, 1, body)];
        let content = write(folder.path(), &turns, 0);
        prop_assert_eq!(content.turns().map(owned).collect::<Vec<_>>(), turns);
    }
}
