//! Up to which offset every request has its outcome.

use reprise_content::schedule::Schedule;
use reprise_contract::outcome::Outcome;

/// Knows up to which offset every request of a shard has its outcome.
///
/// A request counts from its offset on; one that only follows a turn counts from the earliest moment that this can be: the
/// offset of that turn and the delay after it. So the mark never passes a request that was due.
#[derive(Debug)]
pub(crate) struct Watermark {
    /// The number of each request in the whole plan, ascending.
    numbers: Vec<u32>,
    /// The rank of each request, by the moment from which it counts.
    ranks: Vec<u32>,
    /// That moment, by rank.
    counts_from_ns: Vec<i64>,
    /// Whether the outcome is there, by rank.
    is_there: Vec<bool>,
    /// Ranks before this one have their outcome.
    first_open: usize,
    outcomes: usize,
}

/// An outcome that is none of this shard, or there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnexpectedOutcome {
    /// Of another shard.
    #[error("request {0} is none of this worker's")]
    NotOurs(u32),
    /// There already.
    #[error("request {0} has two outcomes")]
    Twice(u32),
}

impl Watermark {
    /// Of a shard of these requests, whose numbers in the whole plan are ascending.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a schedule has at most u32::MAX requests"
    )]
    pub(crate) fn new(schedule: &Schedule, numbers: &[u32]) -> Self {
        let mut from_ns: Vec<i64> = schedule
            .requests
            .iter()
            .map(|request| request.offset_ns.unwrap_or(i64::MIN))
            .collect();
        // A session's turns stand in their order, so the one before is done when its next comes up.
        for (index, request) in schedule.requests.iter().enumerate() {
            if let Some(next) = request.next.map(|next| next as usize)
                && schedule.requests[next].offset_ns.is_none()
            {
                let delay_ns = schedule.requests[next].delay_ns;
                from_ns[next] = from_ns[index].saturating_add_unsigned(delay_ns);
            }
        }
        let mut order: Vec<u32> = (0..from_ns.len() as u32).collect();
        order.sort_by_key(|&index| from_ns[index as usize]);
        let mut ranks = vec![0; order.len()];
        for (rank, &index) in (0..).zip(&order) {
            ranks[index as usize] = rank;
        }
        Self {
            numbers: numbers.to_vec(),
            ranks,
            counts_from_ns: order.iter().map(|&index| from_ns[index as usize]).collect(),
            is_there: vec![false; order.len()],
            first_open: 0,
            outcomes: 0,
        }
    }

    /// Takes note of an outcome.
    ///
    /// # Errors
    /// When it is none of this shard, or there already.
    pub(crate) fn note(&mut self, outcome: &Outcome) -> Result<(), UnexpectedOutcome> {
        let number = outcome.request;
        let index = self
            .numbers
            .binary_search(&number)
            .map_err(|_| UnexpectedOutcome::NotOurs(number))?;
        let is_there = &mut self.is_there[self.ranks[index] as usize];
        if std::mem::replace(is_there, true) {
            return Err(UnexpectedOutcome::Twice(number));
        }
        self.outcomes += 1;
        while self
            .is_there
            .get(self.first_open)
            .is_some_and(|is_there| *is_there)
        {
            self.first_open += 1;
        }
        Ok(())
    }

    /// The largest offset, in nanoseconds since T0, until which every request has its outcome; `None` when the first has none.
    pub(crate) fn offset_ns(&self) -> Option<i64> {
        let Some(open_ns) = self.counts_from_ns.get(self.first_open) else {
            return self.counts_from_ns.last().copied();
        };
        let first_ns = self.counts_from_ns.first()?;
        (open_ns > first_ns).then(|| open_ns - 1)
    }

    /// How many outcomes are there.
    pub(crate) fn outcomes(&self) -> usize {
        self.outcomes
    }

    /// Whether every request has its outcome.
    pub(crate) fn is_complete(&self) -> bool {
        self.first_open == self.is_there.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reprise_content::schedule::{LeftOut, Mode, Request};

    use super::*;
    use crate::member::delivery::tests::outcome;

    fn schedule(requests: &[(Option<i64>, u64, Option<u32>)]) -> Schedule {
        let request = |&(offset_ns, delay_ns, next): &(Option<i64>, u64, Option<u32>)| Request {
            turn: 0,
            offset_ns,
            delay_ns,
            next,
            place: 0,
            is_warmup: false,
        };
        Schedule {
            mode: Mode::Recorded,
            requests: requests.iter().map(request).collect(),
            left_out: LeftOut::default(),
        }
    }

    fn marks(watermark: &mut Watermark, numbers: &[u32]) -> Vec<Option<i64>> {
        numbers
            .iter()
            .map(|&number| {
                watermark.note(&outcome(number)).unwrap();
                watermark.offset_ns()
            })
            .collect()
    }

    #[test]
    fn it_passes_a_request_when_all_before_it_are_there() {
        let shard = schedule(&[(Some(0), 0, None), (Some(10), 0, None), (Some(20), 0, None)]);
        let mut watermark = Watermark::new(&shard, &[4, 7, 9]);
        assert_eq!(watermark.offset_ns(), None);
        assert_eq!(marks(&mut watermark, &[7, 4, 9]), [None, Some(19), Some(20)]);
        assert!(watermark.is_complete());
    }

    #[test]
    fn requests_of_one_moment_are_passed_together() {
        let shard = schedule(&[(Some(0), 0, None), (Some(5), 0, None), (Some(5), 0, None)]);
        let mut watermark = Watermark::new(&shard, &[0, 1, 2]);
        assert_eq!(marks(&mut watermark, &[0, 2, 1]), [Some(4), Some(4), Some(5)]);
    }

    #[test]
    fn a_turn_without_an_offset_counts_from_when_it_can_be_due_at_the_earliest() {
        // The second turn may be due from 3 on, though its place is behind the request at 10.
        let shard = schedule(&[(Some(0), 0, Some(2)), (Some(10), 0, None), (None, 3, None)]);
        let mut watermark = Watermark::new(&shard, &[0, 1, 2]);
        assert_eq!(marks(&mut watermark, &[0, 1, 2]), [Some(2), Some(2), Some(10)]);
    }

    #[test]
    fn outcomes_of_others_and_second_ones_are_refused() {
        let mut watermark = Watermark::new(&schedule(&[(Some(0), 0, None)]), &[5]);
        assert_eq!(watermark.note(&outcome(4)), Err(UnexpectedOutcome::NotOurs(4)));
        assert_eq!(watermark.note(&outcome(5)), Ok(()));
        assert_eq!(watermark.note(&outcome(5)), Err(UnexpectedOutcome::Twice(5)));
        assert_eq!(watermark.outcomes(), 1);
    }

    proptest! {
        #[test]
        fn it_is_what_a_search_finds(offsets in proptest::collection::vec(-5i64..50, 1..40), seed in any::<u64>()) {
            let shard = schedule(&offsets.iter().map(|&offset| (Some(offset), 0, None)).collect::<Vec<_>>());
            let numbers: Vec<u32> = (0..).take(offsets.len()).collect();
            let mut order = numbers.clone();
            order.sort_by_key(|number| (u64::from(*number) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut watermark = Watermark::new(&shard, &numbers);
            for done in 1..=order.len() {
                watermark.note(&outcome(order[done - 1])).unwrap();
                let open = order[done..].iter().map(|&number| offsets[number as usize]).min();
                let least = *offsets.iter().min().unwrap();
                let expected = match open {
                    Some(open) if open == least => None,
                    Some(open) => Some(open - 1),
                    None => offsets.iter().max().copied(),
                };
                prop_assert_eq!(watermark.offset_ns(), expected);
            }
        }
    }
}
