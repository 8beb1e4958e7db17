//! A batch of outcomes from a worker: whatever the bytes are, they are refused or read without a panic.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{arbitrary, arbitrary::Arbitrary, fuzz_target};
use reprise_contract::outcome::Times;
use reprise_contract::protocol::Incarnation;
use reprise_contract::protocol::batch::{self, BatchHead};
use reprise_contract::{Ending, Gaps, Histogram, Outcome, Phase};

#[derive(Arbitrary, Debug)]
enum Input {
    /// Bytes of no known origin.
    Raw(Vec<u8>),
    /// A sound batch, cut and with other values of single bytes.
    Damaged { lost: u16, edits: Vec<(u16, u8)> },
}

static SOUND: LazyLock<Vec<u8>> = LazyLock::new(sound);

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Raw(bytes) => bytes,
        Input::Damaged { lost, edits } => {
            let mut bytes = SOUND.clone();
            for (place, value) in &edits {
                let place = usize::from(*place) % bytes.len();
                bytes[place] = *value;
            }
            bytes.truncate(bytes.len() - usize::from(lost) % bytes.len());
            bytes
        }
    };
    match batch::decode(&bytes) {
        Ok((_, outcomes)) => assert!(outcomes.len() <= batch::MAX_OUTCOMES),
        Err(error) => assert!(bytes != *SOUND, "a sound batch is refused: {error}"),
    }
});

fn sound() -> Vec<u8> {
    let head = BatchHead {
        incarnation: Incarnation::try_from("w-0".to_owned()).expect("a fine name"),
        number: 0,
        watermark_ns: Some(5),
        sent: 2,
        t0_local_ns: 9,
        clock: Vec::new(),
        gaps: Histogram::default(),
        is_last: false,
        stopped: None,
        is_leaving: false,
    };
    let outcomes: Vec<_> = (0..2).map(outcome).collect();
    batch::encode(&head, &outcomes).expect("outcomes have a batch")
}

fn outcome(request: u32) -> Outcome {
    Outcome {
        request,
        session: request,
        turn: 0,
        request_id: (request == 0).then(|| "r".to_owned()),
        phase: Phase::Measured,
        ending: Ending::Completed,
        times: Times {
            due: Some(1),
            sent: Some(2),
            ..Times::default()
        },
        connect_ns: None,
        gaps: Gaps::default(),
        output_chunks: 1,
        input_tokens: None,
        cached_tokens: None,
        output_tokens: None,
        requested_output_tokens: None,
        status: Some(200),
        error: None,
        request_bytes: 10,
        answer_bytes: 20,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}
