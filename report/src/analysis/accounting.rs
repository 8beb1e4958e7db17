//! What became of every planned request.

use std::collections::BTreeMap;

use reprise_contract::summary::{Counts, Failure};
use reprise_contract::{Ending, FailureCause, NotSentReason, Outcome, Phase};

use super::AnalyseError;
use super::view;

/// Counts outcomes, each planned request at most once.
#[derive(Debug)]
pub(super) struct Accounting {
    planned: u64,
    seen: Seen,
    counts: Counts,
    failures: BTreeMap<FailureCause, FirstFailure>,
    not_sent: BTreeMap<NotSentReason, u64>,
    /// One entry a request: its session, and whether it was sent, in the lowest bit.
    session_sent: Vec<u64>,
    unchecked_lengths: u64,
}

#[derive(Debug)]
struct FirstFailure {
    count: u64,
    request: u32,
    example: String,
}

impl Accounting {
    pub(super) fn new(planned: u64) -> Self {
        Self {
            planned,
            seen: Seen::default(),
            counts: Counts::default(),
            failures: BTreeMap::new(),
            not_sent: BTreeMap::new(),
            session_sent: Vec::new(),
            unchecked_lengths: 0,
        }
    }

    pub(super) fn add(&mut self, outcome: &Outcome) -> Result<(), AnalyseError> {
        if u64::from(outcome.request) >= self.planned {
            return Err(AnalyseError::NotPlanned {
                request: outcome.request,
                planned: self.planned,
            });
        }
        if !self.seen.insert(outcome.request) {
            return Err(AnalyseError::Twice {
                request: outcome.request,
            });
        }
        self.session_sent
            .push(u64::from(outcome.session) << 1 | u64::from(outcome.was_sent()));
        self.add_in_all(outcome);
        match outcome.phase {
            Phase::Warmup => {
                self.counts.warmup += 1;
                self.counts.warmup_not_completed += u64::from(outcome.ending != Ending::Completed);
            }
            Phase::Measured => self.add_measured(outcome),
        }
        Ok(())
    }

    fn add_in_all(&mut self, outcome: &Outcome) {
        let in_all = &mut self.counts.in_all;
        let count = match outcome.ending {
            _ if outcome.was_sent() => &mut in_all.sent,
            Ending::Dropped => &mut in_all.dropped,
            Ending::NotSent(_) => &mut in_all.not_sent,
            Ending::Completed | Ending::Failed(_) | Ending::Cancelled => &mut in_all.unreached,
        };
        *count += 1;
    }

    fn add_measured(&mut self, outcome: &Outcome) {
        self.counts.measured += 1;
        self.counts.sent += u64::from(outcome.was_sent());
        match outcome.ending {
            Ending::Completed => {
                self.counts.completed += 1;
                self.counts.completed_without_output += u64::from(view::is_without_output(outcome));
                self.check_length(outcome);
            }
            Ending::Failed(cause) => {
                self.counts.failed += 1;
                self.add_failure(cause, outcome);
            }
            Ending::Cancelled => self.counts.cancelled += 1,
            Ending::Dropped => self.counts.dropped += 1,
            Ending::NotSent(reason) => {
                self.counts.not_sent += 1;
                *self.not_sent.entry(reason).or_default() += 1;
            }
        }
    }

    fn check_length(&mut self, outcome: &Outcome) {
        let Some(requested) = outcome.requested_output_tokens else {
            return;
        };
        match view::served_output_tokens(outcome) {
            Some(served) => self.counts.output_length_mismatches += u64::from(served != requested),
            None => self.unchecked_lengths += 1,
        }
    }

    fn add_failure(&mut self, cause: FailureCause, outcome: &Outcome) {
        let first = self.failures.entry(cause).or_insert_with(|| FirstFailure {
            count: 0,
            request: outcome.request,
            example: outcome.error.clone().unwrap_or_default(),
        });
        first.count += 1;
        if outcome.request < first.request {
            first.request = outcome.request;
            first.example = outcome.error.clone().unwrap_or_default();
        }
    }

    /// Completed requests whose length was asked for, but not told by the server.
    pub(super) fn unchecked_lengths(&self) -> u64 {
        self.unchecked_lengths
    }

    /// The counts, complete.
    pub(super) fn finish(self) -> Counts {
        let failure = |first: FirstFailure| Failure {
            count: first.count,
            example: first.example,
        };
        Counts {
            planned: self.planned,
            unknown: self.planned - self.counts.warmup - self.counts.measured,
            failures: self
                .failures
                .into_iter()
                .map(|(cause, first)| (cause.name().to_owned(), failure(first)))
                .collect(),
            not_sent_by_reason: self
                .not_sent
                .into_iter()
                .map(|(reason, count)| (reason.name().to_owned(), count))
                .collect(),
            partial_sessions: partial_sessions(self.session_sent),
            ..self.counts
        }
    }
}

fn partial_sessions(mut session_sent: Vec<u64>) -> u64 {
    session_sent.sort_unstable();
    session_sent.dedup();
    // What is left of a session is one entry, or two where some of its turns were sent and some were not.
    session_sent
        .windows(2)
        .filter(|pair| pair[0] >> 1 == pair[1] >> 1)
        .count() as u64
}

/// Which requests were seen: one bit each.
#[derive(Debug, Default)]
struct Seen {
    bits: Vec<u64>,
}

impl Seen {
    /// Whether this is the first time.
    fn insert(&mut self, request: u32) -> bool {
        let (word, bit) = ((request / u64::BITS) as usize, 1 << (request % u64::BITS));
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        let first = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        first
    }
}

#[cfg(test)]
mod tests {
    use reprise_contract::TokenSource;
    use reprise_contract::outcome::Tokens;

    use super::*;
    use crate::fixtures;

    fn counts(planned: u64, outcomes: &[Outcome]) -> Counts {
        let mut accounting = Accounting::new(planned);
        for outcome in outcomes {
            accounting.add(outcome).unwrap();
        }
        accounting.finish()
    }

    #[test]
    fn missing_outcomes_are_unknown() {
        let counts = counts(5, &fixtures::streamed(1..4));
        assert_eq!((counts.planned, counts.measured, counts.unknown), (5, 3, 2));
    }

    #[test]
    fn an_outcome_twice_or_beyond_the_plan_is_a_fault() {
        let mut accounting = Accounting::new(70);
        accounting.add(&fixtures::outcome(69)).unwrap();
        assert!(matches!(
            accounting.add(&fixtures::outcome(69)),
            Err(AnalyseError::Twice { request: 69 })
        ));
        assert!(matches!(
            accounting.add(&fixtures::outcome(70)),
            Err(AnalyseError::NotPlanned { request: 70, .. })
        ));
    }

    #[test]
    fn the_example_is_the_first_of_the_plan_whatever_came_first() {
        let mut outcomes = fixtures::streamed(0..3);
        for outcome in &mut outcomes {
            *outcome = fixtures::refused(outcome.request);
            outcome.error = Some(format!("refused {}", outcome.request));
        }
        outcomes.reverse();
        let counts = counts(3, &outcomes);
        assert_eq!(
            counts.failures["connectionRefused"],
            Failure {
                count: 3,
                example: "refused 0".to_owned()
            }
        );
    }

    #[test]
    fn a_session_is_partial_when_some_of_its_turns_went() {
        let mut outcomes: Vec<_> = (0..6).map(fixtures::outcome).collect();
        for (outcome, session) in outcomes.iter_mut().zip([1, 2, 3, 1, 2, 3]) {
            outcome.session = session;
        }
        let unsent = |outcome: &mut Outcome| {
            outcome.times.sent = None;
            outcome.ending = Ending::NotSent(NotSentReason::AnswerMissing);
        };
        unsent(&mut outcomes[0]);
        unsent(&mut outcomes[1]);
        unsent(&mut outcomes[4]);
        assert_eq!(counts(6, &outcomes).partial_sessions, 1);
    }

    #[test]
    fn lengths_are_checked_against_the_server_alone() {
        let mut outcomes = fixtures::streamed(0..3);
        for (outcome, source) in outcomes.iter_mut().zip([
            TokenSource::ServerUsage,
            TokenSource::ServerUsage,
            TokenSource::ChunkCount,
        ]) {
            outcome.requested_output_tokens = Some(20);
            outcome.output_tokens = Some(Tokens {
                count: 10 + 10 * (outcome.request % 2),
                source,
            });
        }
        let mut accounting = Accounting::new(3);
        for outcome in &outcomes {
            accounting.add(outcome).unwrap();
        }
        assert_eq!(accounting.unchecked_lengths(), 1);
        assert_eq!(accounting.finish().output_length_mismatches, 1);
    }
}
