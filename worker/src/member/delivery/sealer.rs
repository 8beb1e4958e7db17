//! Puts outcomes into numbered batches.

use reprise_contract::Histogram;
use reprise_contract::outcome::Outcome;
use reprise_contract::protocol::batch::{self, BatchError, BatchHead};
use reprise_contract::protocol::{ClockSample, Incarnation, Stop};

use super::watermark::{UnexpectedOutcome, Watermark};
use crate::Batch;

/// Outcomes in a batch from which on it is sealed. The replay hands on 512 at most, so a batch has 4,096 at most.
const FULL: usize = 3_584;
/// Bytes of texts in a batch from which on it is sealed: far below what the manager takes.
const FULL_OF_TEXT: usize = 2 << 20;

/// Puts outcomes into batches, numbered from 0; a number is never given twice.
#[derive(Debug)]
pub(crate) struct Sealer {
    incarnation: Incarnation,
    t0_local_ns: i64,
    watermark: Watermark,
    next: u64,
    outcomes: Vec<Outcome>,
    text_bytes: usize,
    gaps: Histogram,
}

/// What a batch says besides outcomes, at the moment that it is sealed.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    /// Requests sent so far.
    pub(crate) sent: u32,
    /// New looks at the manager's clock.
    pub(crate) clock: Vec<ClockSample>,
    /// Why this worker stops the run by itself, if it does.
    pub(crate) stopped: Option<Stop>,
    /// Whether this worker leaves while the run goes on.
    pub(crate) is_leaving: bool,
    /// Whether the replay is over.
    pub(crate) is_over: bool,
}

/// A batch that will not change any more.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Its number.
    pub(crate) number: u64,
    /// Outcomes in it.
    pub(crate) outcomes: u64,
    /// What goes over the wire.
    pub(crate) bytes: Vec<u8>,
}

impl Sealer {
    /// For a shard of which nothing is known yet, of a worker whose clock showed `t0_local_ns` at T0.
    pub(crate) fn new(incarnation: Incarnation, t0_local_ns: i64, watermark: Watermark) -> Self {
        Self {
            incarnation,
            t0_local_ns,
            watermark,
            next: 0,
            outcomes: Vec::new(),
            text_bytes: 0,
            gaps: Histogram::default(),
        }
    }

    /// Takes outcomes.
    ///
    /// # Errors
    /// When one is none of this shard, or there already.
    pub(crate) fn add(&mut self, batch: Batch) -> Result<(), UnexpectedOutcome> {
        for outcome in &batch.outcomes {
            self.watermark.note(outcome)?;
            let texts = [&outcome.request_id, &outcome.error];
            self.text_bytes += texts.into_iter().flatten().map(String::len).sum::<usize>();
        }
        self.outcomes.extend(batch.outcomes);
        self.gaps.merge(&batch.gaps);
        Ok(())
    }

    /// Whether it is time to seal.
    pub(crate) fn is_full(&self) -> bool {
        self.outcomes.len() > FULL || self.text_bytes > FULL_OF_TEXT
    }

    /// Whether nothing was added since the last batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// How many outcomes there were, in all batches.
    pub(crate) fn outcomes(&self) -> usize {
        self.watermark.outcomes()
    }

    /// Whether every request of the shard has its outcome.
    pub(crate) fn is_complete(&self) -> bool {
        self.watermark.is_complete()
    }

    /// Makes a batch of what there is; it may have no outcomes. It is the last one when the replay is over and every request has
    /// its outcome.
    ///
    /// # Errors
    /// When it cannot be encoded, which no outcome provokes.
    pub(crate) fn seal(&mut self, moment: Moment) -> Result<Sealed, BatchError> {
        let outcomes = std::mem::take(&mut self.outcomes);
        self.text_bytes = 0;
        let number = self.next;
        self.next += 1;
        let head = BatchHead {
            incarnation: self.incarnation.clone(),
            number,
            watermark_ns: self.watermark.offset_ns(),
            sent: moment.sent,
            t0_local_ns: self.t0_local_ns,
            clock: moment.clock,
            gaps: std::mem::take(&mut self.gaps),
            is_last: moment.is_over && self.is_complete(),
            stopped: moment.stopped,
            is_leaving: moment.is_leaving,
        };
        Ok(Sealed {
            number,
            outcomes: outcomes.len() as u64,
            bytes: batch::encode(&head, &outcomes)?,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use reprise_content::schedule::{LeftOut, Mode, Request, Schedule};

    use super::*;
    use crate::member::delivery::tests::outcome;

    /// Of a shard of so many requests.
    pub(crate) fn sealer(requests: u32) -> Sealer {
        let request = |offset| Request {
            turn: 0,
            offset_ns: Some(i64::from(offset)),
            delay_ns: 0,
            next: None,
            place: 0,
            is_warmup: false,
        };
        let schedule = Schedule {
            mode: Mode::Recorded,
            requests: (0..requests).map(request).collect(),
            left_out: LeftOut::default(),
        };
        let numbers: Vec<_> = (0..requests).collect();
        let incarnation = Incarnation::try_from("life".to_owned()).unwrap();
        Sealer::new(incarnation, 77, Watermark::new(&schedule, &numbers))
    }

    fn batch(numbers: std::ops::Range<u32>, gap_ns: u64) -> Batch {
        let mut gaps = Histogram::default();
        gaps.record(gap_ns);
        Batch {
            outcomes: numbers.map(outcome).collect(),
            gaps,
        }
    }

    fn over() -> Moment {
        Moment {
            is_over: true,
            ..Moment::default()
        }
    }

    #[test]
    fn outcomes_and_gaps_are_in_one_batch_each_and_the_numbers_go_up() {
        let mut sealer = sealer(5);
        sealer.add(batch(0..2, 10)).unwrap();
        let moment = Moment {
            sent: 3,
            ..Moment::default()
        };
        let (first, outcomes) = batch::decode(&sealer.seal(moment).unwrap().bytes).unwrap();
        assert_eq!(
            (first.number, first.sent, first.watermark_ns, first.is_last),
            (0, 3, Some(1), false)
        );
        assert_eq!(
            (first.t0_local_ns, first.gaps.count(), outcomes.len()),
            (77, 1, 2)
        );
        let (beat, outcomes) = batch::decode(&sealer.seal(Moment::default()).unwrap().bytes).unwrap();
        assert_eq!((beat.number, beat.gaps.count(), outcomes.len()), (1, 0, 0));
        sealer.add(batch(2..5, 10)).unwrap();
        let (last, outcomes) = batch::decode(&sealer.seal(over()).unwrap().bytes).unwrap();
        assert_eq!((last.number, last.is_last, outcomes.len()), (2, true, 3));
        assert_eq!(last.watermark_ns, Some(4));
    }

    #[test]
    fn it_is_not_the_last_while_outcomes_are_missing() {
        let mut sealer = sealer(2);
        sealer.add(batch(0..1, 10)).unwrap();
        let (head, _) = batch::decode(&sealer.seal(over()).unwrap().bytes).unwrap();
        assert!(!head.is_last);
    }

    #[test]
    fn a_batch_is_full_before_the_manager_would_refuse_it() {
        let mut sealer = sealer(20_000);
        let mut start = 0;
        while !sealer.is_full() {
            sealer.add(batch(start..start + 512, 10)).unwrap();
            start += 512;
        }
        assert_eq!(start, 4_096);
        let mut wordy = outcome(10_000);
        wordy.error = Some("x".repeat(FULL_OF_TEXT + 1));
        let mut sealer = self::sealer(20_000);
        let wordy = Batch {
            outcomes: vec![wordy],
            gaps: Histogram::default(),
        };
        sealer.add(wordy).unwrap();
        assert!(sealer.is_full());
    }
}
