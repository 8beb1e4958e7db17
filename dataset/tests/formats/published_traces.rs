//! Excerpts of published traces, against what was counted in them.

use std::collections::HashSet;

use reprise_content::{Body, Piece, TextId, Turn};
use reprise_dataset::{Facts, Format};

use crate::reading::read_lines;

const MOONCAKE: &str = include_str!("../data/mooncake_conversation_head.jsonl");

fn mooncake() -> (Vec<Turn>, Facts) {
    read_lines(Format::MooncakeTrace, &[MOONCAKE])
}

#[test]
fn the_mooncake_conversation_excerpt_has_its_counted_facts() {
    let (turns, facts) = mooncake();
    assert_eq!((facts.records, facts.sessions, facts.blank_lines), (40, 40, 0));
    assert!(facts.is_timed && facts.is_synthesised);
    assert!(!facts.has_recorded_bodies && !facts.has_recorded_models);
    assert_eq!(
        (facts.earliest_ns, facts.latest_ns),
        (Some(0), Some(12_000_000_000))
    );
    assert_eq!(facts.warnings, []);
    assert_eq!(
        turns.iter().filter_map(|turn| turn.input_tokens).sum::<u32>(),
        506_280
    );
    assert_eq!(
        turns.iter().filter_map(|turn| turn.output_tokens).sum::<u32>(),
        14_962
    );
}

#[test]
fn the_mooncake_conversation_excerpt_is_covered_by_its_hash_ids() {
    let (turns, _) = mooncake();
    let mut ids = HashSet::new();
    let mut blocks = 0;
    for turn in &turns {
        let Body::Prompt { pieces, extra: None } = &turn.body else {
            panic!("{turn:?}");
        };
        let mut tokens = 0;
        for piece in pieces {
            let Piece::Corpus { id, tokens: length } = piece else {
                panic!("{piece:?}");
            };
            assert_ne!(*id, TextId::unshared(turn.line));
            ids.insert(*id);
            tokens += length;
            blocks += 1;
        }
        assert_eq!(Some(tokens), turn.input_tokens);
        assert_eq!(pieces.len(), tokens.div_ceil(512) as usize);
    }
    assert_eq!((ids.len(), blocks), (975, 1014));
}
