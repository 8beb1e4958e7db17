//! Content on disk: a damaged file of turns is refused, or read without a panic.
//!
//! The input is the damage: random bytes would never come past an Arrow file's outermost frame.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};
use reprise_content::store::{BodyRef, Content, Origin, Writer};
use reprise_content::{Absent, Body, Digest, Piece, Slot, TextId, Turn, corpus};
use tempfile::TempDir;

#[derive(Arbitrary, Debug)]
struct Damage {
    /// How many bytes are lost at the end.
    lost: u16,
    /// New values of single bytes, counted from the end, where the footer stands.
    edits: Vec<(u16, u8)>,
}

static SOUND: LazyLock<Sound> = LazyLock::new(Sound::write);

fuzz_target!(|damage: Damage| {
    let sound = &*SOUND;
    let mut bytes = sound.turns.clone();
    for (place, value) in &damage.edits {
        let place = bytes.len() - 1 - usize::from(*place) % bytes.len();
        bytes[place] = *value;
    }
    bytes.truncate(bytes.len() - usize::from(damage.lost) % bytes.len());
    fs::write(sound.folder.join("turns.arrow"), &bytes).expect("the disk takes it");
    match Content::open(&sound.folder) {
        Ok(content) => walk(&content),
        Err(error) => assert_ne!(bytes, sound.turns, "a sound file is refused: {error}"),
    }
});

/// Looks at everything that there is.
fn walk(content: &Content) {
    for index in 0..content.len() {
        let turn = content.turn(index);
        let numbers = (turn.session(), turn.line(), turn.recorded_ns(), turn.delay_ns());
        let tokens = (turn.input_tokens(), turn.output_tokens(), turn.is_constrained());
        let texts = (turn.request_id(), turn.headers().collect::<Vec<_>>());
        let pieces = match turn.body() {
            BodyRef::Prompt { pieces, .. } | BodyRef::Recorded { pieces } => pieces,
            BodyRef::Messages { messages, .. } => messages,
        };
        let shown = format!(
            "{numbers:?} {tokens:?} {texts:?} {:?}",
            pieces.collect::<Vec<_>>()
        );
        assert!(!shown.is_empty());
    }
}

/// Content as it should be.
struct Sound {
    _parent: TempDir,
    folder: PathBuf,
    turns: Vec<u8>,
}

impl Sound {
    fn write() -> Self {
        let parent = TempDir::new().expect("a folder");
        let mut writer = Writer::create(parent.path()).expect("a folder takes content");
        for turn in turns() {
            writer.push(&turn).expect("a turn fits");
        }
        let origin = Origin {
            trace_digest: Digest::from_bytes([7; 32]),
            format: "mooncake_trace".to_owned(),
            options: std::iter::empty().collect(),
            corpus: corpus::NAME.to_owned(),
            seed: 1,
        };
        let content = writer.finish(origin).expect("content is written");
        let folder = parent.path().join(content.digest().to_string());
        let turns = fs::read(folder.join("turns.arrow")).expect("the turns are there");
        Self {
            _parent: parent,
            folder,
            turns,
        }
    }
}

fn turns() -> Vec<Turn> {
    let text = Piece::Corpus {
        id: TextId::shared(9).expect("not negative"),
        tokens: 512,
    };
    let slots = vec![
        Piece::Literal(Bytes::from_static(b"{\"model\":")),
        Piece::Slot(Slot::Model(Bytes::from_static(b"\"m\""))),
        Piece::Slot(Slot::Tail(Absent::default())),
        Piece::Literal(Bytes::from_static(b"}")),
    ];
    let bodies = [
        Body::Prompt {
            pieces: vec![text],
            extra: Some(Bytes::from_static(b"\"n\":1")),
        },
        Body::Messages {
            messages: Bytes::from_static(b"[{\"role\":\"user\"}]"),
            extra: None,
        },
        Body::Recorded { pieces: slots },
    ];
    bodies
        .into_iter()
        .zip(0..)
        .map(|(body, index)| Turn {
            session: index,
            line: index + 1,
            recorded_ns: Some(i64::from(index)),
            delay_ns: None,
            input_tokens: Some(512),
            output_tokens: None,
            request_id: Some("r".to_owned()),
            headers: vec![("x-team".to_owned(), "perf".to_owned())],
            is_constrained: false,
            body,
        })
        .collect()
}
