//! `mooncake_trace`: recorded bytes come back as they were, and what is made has the recorded length.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_content::{Body, Piece, Turn};
use reprise_dataset::Format;
use reprise_fuzz::{Record, check_trace, is_json, recorded_bytes};

fuzz_target!(|trace: &[u8]| check_trace(Format::MooncakeTrace, trace, check));

fn check(turn: &Turn, record: &Record<'_>) {
    let extra = match &turn.body {
        Body::Recorded { .. } => {
            let body = recorded_bytes(&turn.body);
            if record.contains_key("extra") {
                assert!(is_json(&body), "merged into what is no JSON");
            } else {
                assert_eq!(body, record["payload"].as_bytes());
            }
            return;
        }
        Body::Messages { messages, extra } => {
            assert_eq!(messages, record["messages"].as_bytes());
            extra
        }
        Body::Prompt { pieces, extra } => {
            if let Some(tokens) = turn.input_tokens {
                assert_eq!(pieces.iter().map(tokens_of).sum::<u64>(), u64::from(tokens));
            }
            extra
        }
    };
    if let Some(extra) = extra {
        assert!(
            is_json(&[b"{", &extra[..], b"}"].concat()),
            "members that are no JSON"
        );
    }
}

fn tokens_of(piece: &Piece) -> u64 {
    match piece {
        Piece::Corpus { tokens, .. } => u64::from(*tokens),
        Piece::Literal(_) | Piece::Slot(_) => 0,
    }
}
