//! What became of the requests of a lost shard.

use std::collections::HashMap;

use reprise_content::schedule::Schedule;

/// The outcome of a request, as far as it decides when the next turn was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When its answer ended, in nanoseconds since T0; `None` when there was none.
    pub done_ns: Option<i64>,
}

/// The requests of a lost shard that have no outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Those that were certainly not sent, as indexes into the schedule.
    pub not_sent: Vec<u32>,
    /// How many may have been sent.
    pub unknown: u32,
}

/// Says of each request of a lost shard without an outcome whether it was not sent or may have been. `requests`: the shard's, as
/// indexes into the schedule in ascending order; `lost_at_ns`: the loss was certain then, in nanoseconds since T0, and `None`
/// means that nothing was ever sent.
///
/// A request was certainly not sent when it was due after the loss, or when it follows a turn that was not sent.
#[must_use]
pub fn account(
    schedule: &Schedule,
    requests: &[u32],
    lost_at_ns: Option<i64>,
    outcome: impl Fn(u32) -> Option<Ended>,
) -> Account {
    let lost_at_ns = lost_at_ns.unwrap_or(i64::MIN);
    let mut before = HashMap::<u32, Before>::new();
    let mut account = Account::default();
    for &number in requests {
        let Some(request) = usize::try_from(number)
            .ok()
            .and_then(|at| schedule.requests.get(at))
        else {
            continue;
        };
        let previous = before.remove(&number);
        let became = if let Some(Ended { done_ns }) = outcome(number) {
            Before::Ended(done_ns)
        } else {
            let after_turn = match previous {
                Some(Before::Ended(Some(done_ns))) => {
                    Some(done_ns.saturating_add(i64::try_from(request.delay_ns).unwrap_or(i64::MAX)))
                }
                _ => None,
            };
            let due_ns = after_turn.max(request.offset_ns);
            let is_after_loss = due_ns.is_some_and(|due_ns| due_ns > lost_at_ns) || lost_at_ns == i64::MIN;
            if is_after_loss || previous == Some(Before::NotSent) {
                account.not_sent.push(number);
                Before::NotSent
            } else {
                account.unknown += 1;
                Before::Unknown
            }
        };
        if let Some(next) = request.next {
            before.insert(next, became);
        }
    }
    account
}

/// What became of the turn before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Ended(Option<i64>),
    NotSent,
    Unknown,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reprise_content::schedule::{LeftOut, Request};
    use reprise_contract::plan::Mode;

    use super::*;

    /// Requests as (offset, delay, next).
    fn schedule(requests: &[(Option<i64>, u64, Option<u32>)]) -> Schedule {
        let requests = requests.iter().map(|&(offset_ns, delay_ns, next)| Request {
            turn: 0,
            offset_ns,
            delay_ns,
            next,
            place: 0,
            is_warmup: false,
        });
        Schedule {
            mode: Mode::Recorded,
            requests: requests.collect(),
            left_out: LeftOut::default(),
        }
    }

    fn done(outcomes: &[(u32, Option<i64>)]) -> impl Fn(u32) -> Option<Ended> {
        let outcomes: HashMap<_, _> = outcomes.iter().copied().collect();
        move |number| outcomes.get(&number).map(|&done_ns| Ended { done_ns })
    }

    #[test]
    fn what_was_due_before_the_loss_may_have_been_sent() {
        let schedule = schedule(&[(Some(0), 0, None), (Some(10), 0, None), (Some(11), 0, None)]);
        let account = account(&schedule, &[0, 1, 2], Some(10), done(&[(0, Some(3))]));
        assert_eq!((account.not_sent, account.unknown), (vec![2], 1));
    }

    #[test]
    fn a_worker_that_never_started_has_sent_nothing() {
        let schedule = schedule(&[(Some(0), 0, Some(1)), (None, 5, None)]);
        let account = account(&schedule, &[0, 1], None, done(&[]));
        assert_eq!((account.not_sent, account.unknown), (vec![0, 1], 0));
    }

    #[test]
    fn a_turn_is_due_after_the_one_before() {
        // The answer ended at 8, so the next was due at 13; unknown is what follows the unknown.
        let schedule = schedule(&[
            (Some(0), 0, Some(2)),
            (Some(1), 0, Some(3)),
            (None, 5, None),
            (None, 5, None),
        ]);
        let requests = [0, 1, 2, 3];
        let at = |lost_at_ns| account(&schedule, &requests, Some(lost_at_ns), done(&[(0, Some(8))]));
        assert_eq!(
            at(12),
            Account {
                not_sent: vec![2],
                unknown: 2
            }
        );
        assert_eq!(
            at(13),
            Account {
                not_sent: vec![],
                unknown: 3
            }
        );
        assert_eq!(
            at(0),
            Account {
                not_sent: vec![1, 2, 3],
                unknown: 0
            }
        );
    }

    #[test]
    fn a_turn_without_an_answer_says_nothing_about_the_next() {
        let schedule = schedule(&[(Some(0), 0, Some(1)), (None, 5, None)]);
        let account = account(&schedule, &[0, 1], Some(3), done(&[(0, None)]));
        assert_eq!((account.not_sent, account.unknown), (vec![], 1));
    }

    #[test]
    fn only_the_shard_is_accounted_for() {
        let schedule = schedule(&[(Some(0), 0, None), (Some(1), 0, None)]);
        assert_eq!(account(&schedule, &[1], Some(5), done(&[])).unknown, 1);
    }

    proptest! {
        /// Sessions of up to three turns, one after the other, some of whose outcomes came.
        #[test]
        fn every_request_is_counted_once(
            sessions in prop::collection::vec((0..100_i64, 1..4_u32), 1..20),
            came in prop::collection::vec(prop::option::of(0..150_i64), 60),
            lost_at_ns in prop::option::of(0..150_i64),
        ) {
            let mut requests = Vec::new();
            for (offset, turns) in sessions {
                for turn in 0..turns {
                    let next = (turn + 1 < turns).then_some(u32::try_from(requests.len()).unwrap() + 1);
                    requests.push(((turn == 0).then_some(offset), 3, next));
                }
            }
            let numbers: Vec<u32> = (0..).take(requests.len()).collect();
            let schedule = schedule(&requests);
            // A worker that never started has no outcomes.
            let outcome = |number: u32| {
                let done_ns = lost_at_ns.and(came[number as usize])?;
                Some(Ended { done_ns: Some(done_ns) })
            };
            let ended = numbers.iter().filter(|number| outcome(**number).is_some()).count();
            let account = account(&schedule, &numbers, lost_at_ns, outcome);
            prop_assert_eq!(ended + account.not_sent.len() + account.unknown as usize, numbers.len());
            prop_assert!(account.not_sent.iter().all(|number| outcome(*number).is_none()));
            prop_assert!(lost_at_ns.is_some() || account.unknown == 0);
        }
    }
}
