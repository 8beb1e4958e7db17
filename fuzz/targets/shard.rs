//! A shard on its way: damaged bytes are refused, whatever the damage is.

#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};
use reprise_content::schedule::{LeftOut, Mode, Request, Schedule};
use reprise_content::store::{Origin, Writer};
use reprise_content::{Body, Digest, Turn, corpus, shard};
use tempfile::TempDir;

#[derive(Arbitrary, Debug)]
struct Damage {
    /// How many bytes are lost at the end.
    lost: u16,
    /// New values of single bytes.
    edits: Vec<(u16, u8)>,
}

static SOUND: LazyLock<Vec<u8>> = LazyLock::new(sound);
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder"));

fuzz_target!(|damage: Damage| {
    let mut bytes = SOUND.clone();
    for (place, value) in &damage.edits {
        let place = usize::from(*place) % bytes.len();
        bytes[place] = *value;
    }
    bytes.truncate(bytes.len() - usize::from(damage.lost) % bytes.len());
    let is_sound = bytes == *SOUND;
    match shard::read(Cursor::new(bytes), FOLDER.path()) {
        Ok(shard) => {
            assert!(is_sound, "damage was not seen");
            assert_eq!(shard.numbers, [0, 1, 2]);
        }
        Err(error) => assert!(!is_sound, "a sound shard is refused: {error}"),
    }
});

fn sound() -> Vec<u8> {
    let mut writer = Writer::create(FOLDER.path()).expect("a folder takes content");
    for index in 0..3 {
        let turn = Turn {
            session: index % 2,
            line: index + 1,
            recorded_ns: Some(i64::from(index)),
            delay_ns: None,
            input_tokens: Some(5),
            output_tokens: None,
            request_id: Some("r".to_owned()),
            headers: vec![("x-team".to_owned(), "perf".to_owned())],
            is_constrained: false,
            body: Body::Messages {
                messages: Bytes::from_static(b"[{\"role\":\"user\"}]"),
                extra: None,
            },
        };
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
    let request = |turn, next, place| Request {
        turn,
        offset_ns: Some(i64::from(turn)),
        delay_ns: 0,
        next,
        place,
        is_warmup: turn == 0,
    };
    let schedule = Schedule {
        mode: Mode::Recorded,
        requests: vec![request(0, Some(2), 0), request(1, None, 0), request(2, None, 1)],
        left_out: LeftOut::default(),
    };
    let mut bytes = Vec::new();
    shard::write(&content, &schedule, &[0, 1, 2], &mut bytes).expect("a buffer takes a shard");
    bytes
}
