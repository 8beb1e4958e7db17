//! A shard on its way: damaged bytes are refused, and those that bear a right digest are refused or read without a panic.

#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use bytes::Bytes;
use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};
use reprise_content::schedule::{LeftOut, Mode, Request, Schedule};
use reprise_content::store::{Origin, Writer};
use reprise_content::{Body, Digest, Turn, corpus, digest, shard};
use tempfile::TempDir;

#[derive(Arbitrary, Debug)]
struct Damage {
    /// How many bytes are lost at the end.
    lost: u16,
    /// New values of single bytes.
    edits: Vec<(u16, u8)>,
    /// Whether the digest is made anew, as only a manager can.
    is_signed: bool,
}

static SOUND: LazyLock<Vec<u8>> = LazyLock::new(sound);
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder"));

fuzz_target!(|damage: Damage| {
    let digest_at = SOUND.len() - 32;
    let mut bytes = SOUND[..digest_at].to_vec();
    for (place, value) in &damage.edits {
        let place = usize::from(*place) % bytes.len();
        bytes[place] = *value;
    }
    bytes.truncate(bytes.len() - usize::from(damage.lost) % bytes.len());
    let is_sound = bytes == SOUND[..digest_at];
    if damage.is_signed {
        let digest = digest::of(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
    } else {
        bytes.extend_from_slice(&SOUND[digest_at..]);
    }
    match shard::read(Cursor::new(bytes), FOLDER.path()) {
        Ok(shard) => {
            assert!(is_sound || damage.is_signed, "damage was not seen");
            assert_eq!(shard.numbers.len(), shard.schedule.requests.len());
            assert_eq!(shard.content.len() as usize, shard.numbers.len());
            assert!(shard.numbers.is_sorted_by(|one, next| one < next));
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
