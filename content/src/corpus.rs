//! The built-in corpus: text of an exact number of tokens.
//!
//! Every word of the list is one token, at the start of a text and after a space, in the tokenizers that
//! `content/corpus/README.md` lists; so a text of `n` words joined by single spaces is `n` tokens there. A text is a pure
//! function of (corpus, seed, trace, id):
//!
//! - its first [`PREFIX_WORDS`] words spell the id, permuted by a key made of seed and trace, in base 2048. The permutation
//!   is a bijection, so different ids of one content differ within these words, always and not only probably (a text of fewer
//!   words cannot hold its id, and may be that of another);
//! - the rest is a slice of a fixed run of random words, from a place that the id decides. It is copied, not computed.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::digest;
use crate::piece::TextId;
use reprise_contract::Digest;

/// The words, sorted, one a line.
const WORDS: &str = include_str!("../corpus/words.txt");
const WORD_COUNT: usize = 2048;
const WORD_BITS: u32 = WORD_COUNT.trailing_zeros();

/// Words that spell the id: 6 × 11 bits hold its 64.
pub const PREFIX_WORDS: u32 = u64::BITS.div_ceil(WORD_BITS);

/// Words in the run that texts are slices of.
const RUN_WORDS: usize = 1 << 20;

/// The name of the corpus; it changes with every change to the texts it gives.
pub const NAME: &str = "words-2048/1";

/// The corpus as seen by one content: its key is made of seed and trace.
#[derive(Clone)]
pub struct Corpus {
    run: Arc<Run>,
    key: u64,
}

/// A fixed run of random words, each with a space before it, and where each begins.
struct Run {
    text: Vec<u8>,
    starts: Vec<u32>,
    words: Vec<&'static str>,
}

impl Corpus {
    /// The corpus for a trace and a seed. Makes the run of words, about 12 MB; clones share it.
    #[must_use]
    pub fn new(trace: &Digest, seed: u64) -> Self {
        let mut input = Vec::from(b"reprise corpus key\0".as_slice());
        input.extend_from_slice(NAME.as_bytes());
        input.extend_from_slice(&seed.to_le_bytes());
        input.extend_from_slice(trace.as_bytes());
        let digest = digest::of(&input);
        let key = digest
            .as_bytes()
            .iter()
            .take(8)
            .fold(0, |key, byte| key << 8 | u64::from(*byte));
        Self {
            run: Arc::new(Run::new()),
            key,
        }
    }

    /// Appends the first `tokens` words of text `id` to `out`, each with one space before it.
    pub fn append(&self, id: TextId, tokens: u32, out: &mut Vec<u8>) {
        let mut spelled = permute(id.bits() ^ self.key);
        let start = permute(spelled);
        for _ in 0..tokens.min(PREFIX_WORDS) {
            out.push(b' ');
            out.extend_from_slice(self.run.word(spelled).as_bytes());
            spelled >>= WORD_BITS;
        }
        self.run.append(start, tokens.saturating_sub(PREFIX_WORDS), out);
    }
}

impl Run {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the run is far shorter than 4 GiB"
    )]
    fn new() -> Self {
        let words: Vec<&'static str> = WORDS.lines().collect();
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let mut text = Vec::with_capacity(RUN_WORDS * 7);
        let mut starts = Vec::with_capacity(RUN_WORDS + 1);
        for _ in 0..RUN_WORDS {
            starts.push(text.len() as u32);
            text.push(b' ');
            text.extend_from_slice(words[random.next_u32() as usize % words.len()].as_bytes());
        }
        starts.push(text.len() as u32);
        Self { text, starts, words }
    }

    fn word(&self, bits: u64) -> &'static str {
        self.words[usize::try_from(bits % WORD_COUNT as u64).unwrap_or_default()]
    }

    fn append(&self, start: u64, words: u32, out: &mut Vec<u8>) {
        let mut first = usize::try_from(start % RUN_WORDS as u64).unwrap_or_default();
        let mut left = words as usize;
        while left > 0 {
            let last = (first + left).min(RUN_WORDS);
            out.extend_from_slice(&self.text[self.starts[first] as usize..self.starts[last] as usize]);
            left -= last - first;
            first = 0;
        }
    }
}

/// A bijection on 64 bits that spreads every input bit (the finaliser of `SplitMix64`).
fn permute(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn corpus(seed: u64) -> Corpus {
        Corpus::new(&digest::of(b"trace"), seed)
    }

    fn text(corpus: &Corpus, id: i64, tokens: u32) -> String {
        let mut out = Vec::new();
        corpus.append(TextId::shared(id).unwrap(), tokens, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_word_list_is_what_the_code_relies_on() {
        let words: Vec<_> = WORDS.lines().collect();
        assert_eq!(words.len(), WORD_COUNT);
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), WORD_COUNT);
        assert!(words.is_sorted());
        assert!(
            words
                .iter()
                .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
    }

    #[test]
    fn a_text_has_as_many_words_as_tokens() {
        let corpus = corpus(7);
        for tokens in [1, 5, 6, 7, 512, 130_000, 2_200_000] {
            assert_eq!(
                text(&corpus, 12, tokens).split(' ').skip(1).count(),
                tokens as usize
            );
        }
    }

    #[test]
    fn a_shorter_text_is_a_prefix_of_a_longer_one() {
        let corpus = corpus(7);
        let long = text(&corpus, 3, 512);
        assert!(long.starts_with(&text(&corpus, 3, 100)));
        assert!(long.starts_with(&text(&corpus, 3, 2)));
    }

    #[test]
    fn different_ids_differ_within_the_first_words() {
        let corpus = corpus(7);
        let starts: HashSet<_> = (0..200_000).map(|id| text(&corpus, id, PREFIX_WORDS)).collect();
        assert_eq!(starts.len(), 200_000);
    }

    #[test]
    fn unshared_text_is_never_shared_text() {
        let corpus = corpus(7);
        let mut unshared = Vec::new();
        corpus.append(TextId::unshared(12), PREFIX_WORDS, &mut unshared);
        assert_ne!(unshared, text(&corpus, 12, PREFIX_WORDS).into_bytes());
    }

    #[test]
    fn seed_and_trace_change_the_text() {
        let base = text(&corpus(7), 1, 50);
        assert_ne!(base, text(&corpus(8), 1, 50));
        assert_ne!(base, text(&Corpus::new(&digest::of(b"other"), 7), 1, 50));
        assert_eq!(base, text(&corpus(7), 1, 50));
    }

    /// The texts are part of what digests promise: a change here needs a new [`NAME`].
    #[test]
    fn the_texts_of_this_version_are_fixed() {
        insta::assert_snapshot!(text(&corpus(7), 0, 20));
        let mut hashed = Vec::new();
        (0..100).for_each(|id| hashed.extend_from_slice(text(&corpus(7), id, 5_000).as_bytes()));
        insta::assert_snapshot!(digest::of(&hashed));
    }
}
