//! Input lengths with hash ids: which text is shared.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use reprise_content::{Piece, TextId};

use super::RecordError;
use crate::facts::{DatasetWarning, sizes_text};

/// Tokens a hash id, in the traces that Mooncake publishes.
pub(crate) const DEFAULT_BLOCK_SIZE: NonZeroU32 = NonZeroU32::new(512).unwrap();

/// How hash ids cover input lengths, over all records.
#[derive(Debug)]
pub(super) struct Blocks {
    size: NonZeroU32,
    records: u64,
    with_rest: u64,
    too_many_ids: u64,
    /// The block sizes that fit every record so far, from smallest to largest; none fits when they have crossed.
    smallest: u32,
    largest: u32,
}

impl Blocks {
    pub(super) fn new(size: Option<NonZeroU32>) -> Self {
        Self {
            size: size.unwrap_or(DEFAULT_BLOCK_SIZE),
            records: 0,
            with_rest: 0,
            too_many_ids: 0,
            smallest: 1,
            largest: u32::MAX,
        }
    }

    /// The text of a prompt of `tokens`: what its hash ids name, block by block, then what they do not cover, which only
    /// the record on this `line` has.
    pub(super) fn pieces(
        &mut self,
        line: u32,
        tokens: u32,
        hash_ids: Vec<TextId>,
    ) -> Result<Vec<Piece>, RecordError> {
        let unshared = |tokens| Piece::Corpus {
            id: TextId::unshared(line),
            tokens,
        };
        if hash_ids.is_empty() {
            return Ok(vec![unshared(tokens)]);
        }
        self.note(tokens, hash_ids.len());
        let block_size = self.size.get();
        let mut pieces = Vec::with_capacity(hash_ids.len() + 1);
        let mut rest = tokens;
        let ids = hash_ids.len();
        for id in hash_ids {
            if rest == 0 {
                self.too_many_ids += 1;
                return Err(RecordError::TooManyHashIds {
                    ids,
                    block_size,
                    input_length: tokens,
                    fits: sizes_for(tokens, ids),
                });
            }
            let tokens = rest.min(block_size);
            pieces.push(Piece::Corpus { id, tokens });
            rest -= tokens;
        }
        if rest > 0 {
            self.with_rest += 1;
            pieces.push(unshared(rest));
        }
        Ok(pieces)
    }

    fn note(&mut self, tokens: u32, ids: usize) {
        self.records += 1;
        // Where no size fits one record, none fits all.
        let (smallest, largest) = sizes_for(tokens, ids).map_or((u32::MAX, 0), RangeInclusive::into_inner);
        self.smallest = self.smallest.max(smallest);
        self.largest = self.largest.min(largest);
    }

    fn sizes_for_all(&self) -> Option<RangeInclusive<u32>> {
        (self.smallest <= self.largest).then_some(self.smallest..=self.largest)
    }

    /// Where ids went beyond lengths: the size that would fit them all.
    pub(super) fn advice(&self) -> Option<String> {
        let sizes = (self.too_many_ids > 0).then(|| self.sizes_for_all()).flatten()?;
        let sizes = sizes_text(&sizes);
        Some(format!(
            "dataset.options.blockSize: {sizes} fits all {} records with hash ids",
            self.records
        ))
    }

    pub(super) fn warning(&self) -> Option<DatasetWarning> {
        let all_have_a_rest = self.records > 0 && self.with_rest == self.records;
        all_have_a_rest.then(|| DatasetWarning::BlockSizeTooSmall {
            block_size: self.size,
            fits: self.sizes_for_all(),
        })
    }
}

/// The block sizes with which `ids` blocks, the last one perhaps partial, are exactly `tokens` long. `None` when there are
/// none.
fn sizes_for(tokens: u32, ids: usize) -> Option<RangeInclusive<u32>> {
    let ids = u32::try_from(ids).ok()?;
    let smallest = tokens.div_ceil(ids);
    let largest = match ids {
        1 => u32::MAX,
        ids => (tokens - 1) / (ids - 1),
    };
    (smallest <= largest).then_some(smallest..=largest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks(size: u32) -> Blocks {
        Blocks::new(NonZeroU32::new(size))
    }

    fn shared(ids: impl IntoIterator<Item = i64>) -> Vec<TextId> {
        ids.into_iter().map(|id| TextId::shared(id).unwrap()).collect()
    }

    fn corpus(id: i64, tokens: u32) -> Piece {
        Piece::Corpus {
            id: TextId::shared(id).unwrap(),
            tokens,
        }
    }

    #[test]
    fn the_last_block_is_as_long_as_what_is_left() {
        let pieces = blocks(512).pieces(7, 1300, shared([1, 2, 9])).unwrap();
        assert_eq!(pieces, [corpus(1, 512), corpus(2, 512), corpus(9, 276)]);
        assert_eq!(
            blocks(512).pieces(7, 1024, shared([1, 2])).unwrap(),
            [corpus(1, 512), corpus(2, 512)]
        );
    }

    #[test]
    fn what_ids_do_not_cover_is_the_records_own() {
        let own = |tokens| Piece::Corpus {
            id: TextId::unshared(7),
            tokens,
        };
        assert_eq!(
            blocks(512).pieces(7, 700, shared([1])).unwrap(),
            [corpus(1, 512), own(188)]
        );
        assert_eq!(blocks(512).pieces(7, 700, Vec::new()).unwrap(), [own(700)]);
    }

    #[test]
    fn ids_beyond_the_length_are_refused_with_the_sizes_that_fit() {
        let mut blocks = blocks(512);
        let error = blocks.pieces(3, 100, shared(0..7)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "7 hash ids of 512 tokens go beyond the input_length of 100, where 1 would do. For this record \
             dataset.options.blockSize 16 (or any from 15 to 16) would fit"
        );
        assert!(blocks.pieces(4, 33, shared(0..3)).is_err());
        assert_eq!(
            blocks.advice().unwrap(),
            "dataset.options.blockSize: 16 (or any from 15 to 16) fits all 2 records with hash ids"
        );
        assert!(
            blocks
                .pieces(5, 2, shared(0..3))
                .unwrap_err()
                .to_string()
                .contains("No dataset.options.blockSize")
        );
        assert_eq!(blocks.advice(), None);
    }

    #[test]
    fn a_block_size_that_is_too_small_in_every_record_is_warned_of() {
        let mut blocks = blocks(16);
        blocks.pieces(1, 1300, shared([1, 2, 3])).unwrap();
        blocks.pieces(2, 513, shared([1, 2])).unwrap();
        let fits = Some(434..=512);
        assert_eq!(
            blocks.warning(),
            Some(DatasetWarning::BlockSizeTooSmall {
                block_size: blocks.size,
                fits
            })
        );
        blocks.pieces(3, 16, shared([1])).unwrap();
        assert_eq!(blocks.warning(), None);
    }

    proptest! {
        #[test]
        fn lengths_add_up_and_sizes_fit_by_definition(tokens in 1_u32..5000, ids in 1_usize..40, size in 1_u32..600) {
            let count = u32::try_from(ids).unwrap();
            let fits = tokens > (count - 1) * size && tokens <= count * size;
            prop_assert_eq!(sizes_for(tokens, ids).is_some_and(|sizes| sizes.contains(&size)), fits);
            match blocks(size).pieces(1, tokens, shared(0..i64::from(count))) {
                Ok(pieces) => {
                    prop_assert!(tokens > (count - 1) * size);
                    let total: u32 = pieces.iter().map(|piece| match piece {
                        Piece::Corpus { tokens, .. } => *tokens,
                        other => panic!("{other:?}"),
                    }).sum();
                    prop_assert_eq!(total, tokens);
                    prop_assert_eq!(pieces.len(), ids + usize::from(tokens > count * size));
                }
                Err(_) => prop_assert!(tokens <= (count - 1) * size),
            }
        }
    }
}
