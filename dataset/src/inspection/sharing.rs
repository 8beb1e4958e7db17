//! What prompts share, by their hash ids.

use std::collections::{HashMap, HashSet};

use reprise_content::{Body, Piece, TextId, Turn};
use serde::Serialize;

use super::ratio;

/// What prompts share, by their hash ids. A block is the text that one hash id stands for.
///
/// A request's *shared prefix* is the longest run of blocks, from the first on, with which an earlier request also begins.
/// Over all input tokens its share is the hit rate of a prefix cache that holds everything and forgets nothing: no cache
/// hits more often on these prompts. A later turn of a session comes after what was said before it, so its own blocks begin
/// nothing and count as not shared; how often the session's history hits is not part of these numbers, as it depends on
/// live answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sharing {
    /// Requests that have hash ids.
    pub requests_with_hash_ids: u32,
    /// Different hash ids.
    pub distinct_hash_ids: u64,
    /// Requests that share their first block, or part of it, with an earlier one.
    pub requests_sharing: u32,
    /// The same, of all requests with hash ids: 0 to 1.
    pub requests_sharing_ratio: f64,
    /// Input tokens in shared prefixes.
    pub shared_prefix_tokens: u64,
    /// The same, of all known input tokens: 0 to 1.
    pub shared_prefix_tokens_ratio: f64,
    /// The longest shared prefix of a request, in tokens.
    pub longest_shared_prefix_tokens: u32,
}

/// The blocks seen so far, as a tree: what requests have in common from their first block on is one path from its root.
#[derive(Debug, Default)]
pub(super) struct SharingInspector {
    ids: HashSet<TextId>,
    /// The node under another for a block.
    nodes: HashMap<(Node, TextId), Node>,
    /// The most tokens that a node's block was seen with, by the number of the node less one.
    tokens: Vec<u32>,
    requests: u32,
    sharing: u32,
    shared_tokens: u64,
    longest: u32,
}

/// The number of a node. The root is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Node(u32);

impl SharingInspector {
    /// Looks at a turn; `is_later` when its session has an earlier one.
    pub(super) fn add(&mut self, turn: &Turn, is_later: bool) {
        let Body::Prompt { pieces, .. } = &turn.body else {
            return;
        };
        let own = TextId::unshared(turn.line);
        let blocks = pieces.iter().map_while(|piece| match piece {
            Piece::Corpus { id, tokens } if *id != own => Some((*id, *tokens)),
            Piece::Corpus { .. } | Piece::Literal(_) | Piece::Slot(_) => None,
        });
        if blocks.clone().next().is_none() {
            return;
        }
        self.requests += 1;
        self.ids.extend(blocks.clone().map(|(id, _)| id));
        if is_later {
            return;
        }
        let shared = self.walk(blocks);
        self.sharing += u32::from(shared > 0);
        self.shared_tokens += u64::from(shared);
        self.longest = self.longest.max(shared);
    }

    /// Goes down the tree along `blocks`, growing it where it ends. Gives the tokens that were there before.
    fn walk(&mut self, blocks: impl Iterator<Item = (TextId, u32)>) -> u32 {
        let mut node = Node::default();
        let mut shared = 0;
        for (id, tokens) in blocks {
            let known = self.tokens.len();
            let next = Node(u32::try_from(known + 1).unwrap_or(u32::MAX));
            node = *self.nodes.entry((node, id)).or_insert(next);
            match self.tokens.get_mut(node.0 as usize - 1) {
                // Only the last block of a request can be a part of one, so what has a block after it was whole.
                Some(before) => {
                    shared += tokens.min(*before);
                    *before = tokens.max(*before);
                }
                None => self.tokens.push(tokens),
            }
        }
        shared
    }

    pub(super) fn finish(self, input_tokens: u64) -> Option<Sharing> {
        (self.requests > 0).then(|| Sharing {
            requests_with_hash_ids: self.requests,
            distinct_hash_ids: self.ids.len() as u64,
            requests_sharing: self.sharing,
            requests_sharing_ratio: ratio(self.sharing.into(), self.requests.into()),
            shared_prefix_tokens: self.shared_tokens,
            shared_prefix_tokens_ratio: ratio(self.shared_tokens, input_tokens),
            longest_shared_prefix_tokens: self.longest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at prompts of blocks, each with its id and tokens, and says what each shares.
    fn sharing(prompts: &[&[(i64, u32)]]) -> Sharing {
        let mut inspector = SharingInspector::default();
        for (line, blocks) in (1..).zip(prompts) {
            inspector.add(&turn(line, blocks), false);
        }
        inspector.finish(1000).unwrap()
    }

    fn turn(line: u32, blocks: &[(i64, u32)]) -> Turn {
        let corpus = |&(id, tokens): &(i64, u32)| Piece::Corpus {
            id: TextId::shared(id).unwrap(),
            tokens,
        };
        let rest = Piece::Corpus {
            id: TextId::unshared(line),
            tokens: 5,
        };
        Turn {
            session: line,
            line,
            recorded_ns: None,
            delay_ns: None,
            input_tokens: None,
            output_tokens: None,
            request_id: None,
            headers: Vec::new(),
            is_constrained: false,
            body: Body::Prompt {
                pieces: blocks.iter().map(corpus).chain([rest]).collect(),
                extra: None,
            },
        }
    }

    #[test]
    fn what_begins_alike_is_shared_up_to_the_first_difference() {
        let found = sharing(&[
            &[(1, 16), (2, 16), (3, 16)],
            &[(1, 16), (2, 16), (4, 16)],
            &[(9, 16), (2, 16), (3, 16)],
            &[(1, 16), (2, 16), (3, 16)],
        ]);
        assert_eq!((found.distinct_hash_ids, found.requests_with_hash_ids), (5, 4));
        assert_eq!((found.requests_sharing, found.requests_sharing_ratio), (2, 0.5));
        assert_eq!(
            (found.shared_prefix_tokens, found.longest_shared_prefix_tokens),
            (80, 48)
        );
        assert_eq!(found.shared_prefix_tokens_ratio.to_bits(), 0.08f64.to_bits());
    }

    #[test]
    fn a_known_block_after_another_predecessor_is_not_shared() {
        let found = sharing(&[&[(1, 16), (2, 16)], &[(2, 16)], &[(1, 16), (1, 16)]]);
        assert_eq!((found.requests_sharing, found.shared_prefix_tokens), (1, 16));
    }

    #[test]
    fn of_a_block_that_was_seen_in_part_that_part_is_shared() {
        let found = sharing(&[
            &[(1, 16), (2, 6)],
            &[(1, 16), (2, 16), (3, 16)],
            &[(1, 16), (2, 9)],
        ]);
        assert_eq!(found.shared_prefix_tokens, (16 + 6) + (16 + 9));
    }

    #[test]
    fn a_request_does_not_share_with_itself() {
        let found = sharing(&[&[(1, 16), (1, 16)]]);
        assert_eq!((found.distinct_hash_ids, found.shared_prefix_tokens), (1, 0));
    }

    #[test]
    fn blocks_of_later_turns_begin_nothing() {
        let mut inspector = SharingInspector::default();
        inspector.add(&turn(1, &[(1, 16)]), false);
        inspector.add(&turn(2, &[(1, 16), (7, 16)]), true);
        inspector.add(&turn(3, &[(1, 16), (7, 16)]), false);
        let found = inspector.finish(1000).unwrap();
        assert_eq!((found.requests_with_hash_ids, found.distinct_hash_ids), (3, 2));
        assert_eq!((found.requests_sharing, found.shared_prefix_tokens), (1, 16));
    }

    #[test]
    fn prompts_without_hash_ids_have_nothing_to_tell() {
        let mut inspector = SharingInspector::default();
        inspector.add(&turn(1, &[]), false);
        assert_eq!(inspector.finish(5), None);
    }
}
