//! Which requests have their outcome, so that none has two and none is another shard's.

use reprise_contract::Outcome;
use reprise_contract::protocol::ClockSample;
use reprise_contract::protocol::batch::BatchHead;

use super::Planned;

/// No run is this long: 10 years, in nanoseconds. A time beyond it is none.
const ABSURD_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// A timer may be early, but not by this much.
const EARLY_NS: i64 = 1_000_000_000;

/// Outcomes that contradict the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A request of another shard, or of none.
    #[error("request {0} is not of its shard")]
    OtherShard(u32),
    /// A shard that the plan has not.
    #[error("the plan has no shard {0}")]
    NoShard(u32),
    /// A second outcome.
    #[error("request {0} has an outcome already")]
    Twice(u32),
    /// Not the turn that the plan says.
    #[error("request {0} is of another session, turn or phase than the plan says")]
    OtherTurn(u32),
    /// Times that cannot be.
    #[error("request {0} has times that cannot be: {1}")]
    Times(u32, &'static str),
    /// Looks at the clock that cannot be.
    #[error("its clock shows times that are years away")]
    Clock,
    /// Outcomes before T0 or from a clock that nothing is known of.
    #[error("it has outcomes, and {0}")]
    NoClock(&'static str),
}

/// Which requests of the plan have their outcome.
pub(super) struct Ledger {
    planned: Planned,
    /// By index into the schedule.
    has_outcome: Vec<bool>,
    /// When each answer ended, in nanoseconds since T0; [`NOT_DONE`] without an answer. Empty when no turn waits for another.
    done_ns: Vec<i64>,
}

const NOT_DONE: i64 = i64::MIN;

impl Ledger {
    pub(super) fn new(planned: Planned) -> Self {
        let requests = &planned.schedule.requests;
        let some_wait = requests.iter().any(|request| request.next.is_some());
        Self {
            has_outcome: vec![false; requests.len()],
            done_ns: vec![NOT_DONE; if some_wait { requests.len() } else { 0 }],
            planned,
        }
    }

    pub(super) fn planned(&self) -> &Planned {
        &self.planned
    }

    /// When the schedule wants a request.
    pub(super) fn offset_ns(&self, number: u32) -> Option<i64> {
        let request = self.planned.schedule.requests.get(place(number));
        request.and_then(|request| request.offset_ns)
    }

    /// Notes the outcomes of a batch, all or none.
    pub(super) fn note(&mut self, index: u32, outcomes: &[Outcome]) -> Result<(), Contradiction> {
        for (at, outcome) in outcomes.iter().enumerate() {
            let noted = self
                .check(index, outcome)
                .and_then(|()| self.mark(outcome.request));
            if let Err(contradiction) = noted {
                for outcome in &outcomes[..at] {
                    self.has_outcome[place(outcome.request)] = false;
                }
                return Err(contradiction);
            }
        }
        Ok(())
    }

    fn check(&self, index: u32, outcome: &Outcome) -> Result<(), Contradiction> {
        let number = outcome.request;
        let shard = self.planned.shards.get(place(index));
        if shard.is_none_or(|requests| requests.binary_search(&number).is_err()) {
            return Err(Contradiction::OtherShard(number));
        }
        let Some(request) = self.planned.schedule.requests.get(place(number)) else {
            return Err(Contradiction::OtherShard(number));
        };
        let session = self.planned.content.turn(request.turn).session();
        let is_warmup = outcome.phase == reprise_contract::Phase::Warmup;
        if (outcome.session, outcome.turn, is_warmup) != (session, request.place, request.is_warmup) {
            return Err(Contradiction::OtherTurn(number));
        }
        check_times(outcome, request.offset_ns)
    }

    fn mark(&mut self, number: u32) -> Result<(), Contradiction> {
        if std::mem::replace(&mut self.has_outcome[place(number)], true) {
            return Err(Contradiction::Twice(number));
        }
        Ok(())
    }

    /// Notes when an answer ended.
    pub(super) fn note_done(&mut self, outcome: &Outcome) {
        if let (Some(done_ns), Some(noted)) =
            (outcome.times.done, self.done_ns.get_mut(place(outcome.request)))
        {
            *noted = done_ns;
        }
    }

    /// What is known of a request's outcome; `None` when it has none.
    pub(super) fn ended(&self, number: u32) -> Option<crate::coordinator::Ended> {
        self.has_outcome[place(number)].then(|| crate::coordinator::Ended {
            done_ns: self
                .done_ns
                .get(place(number))
                .copied()
                .filter(|&done_ns| done_ns != NOT_DONE),
        })
    }
}

/// Refuses looks at the clock that no clock gives, before anything is computed with them.
pub(super) fn check_clock(head: &BatchHead) -> Result<(), Contradiction> {
    let is_absurd = |sample: &ClockSample| {
        let furthest = sample
            .local_ns
            .unsigned_abs()
            .max(sample.manager_ns.unsigned_abs());
        furthest.max(sample.round_trip_ns) > ABSURD_NS
    };
    if head.clock.iter().any(is_absurd) || head.t0_local_ns.unsigned_abs() > ABSURD_NS {
        return Err(Contradiction::Clock);
    }
    Ok(())
}

fn check_times(outcome: &Outcome, offset_ns: Option<i64>) -> Result<(), Contradiction> {
    let times = &outcome.times;
    let absurd = |why| Err(Contradiction::Times(outcome.request, why));
    if times.recorded.is_some() != offset_ns.is_some() {
        return absurd("recorded where the schedule has none, or none where it has one");
    }
    let Some(due) = times.due else {
        return absurd("it was never due");
    };
    let all = [
        times.recorded,
        times.due,
        times.sent,
        times.headers,
        times.first_chunk,
        times.first_output,
        times.first_content,
        times.last_output,
        times.usage,
        times.done,
    ];
    if all
        .into_iter()
        .flatten()
        .any(|time| time.unsigned_abs() > ABSURD_NS)
    {
        return absurd("years away from T0");
    }
    if times.sent.is_some_and(|sent| sent.saturating_add(EARLY_NS) < due) {
        return absurd("sent before it was due");
    }
    Ok(())
}

/// An index of the wire as one of memory.
fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
