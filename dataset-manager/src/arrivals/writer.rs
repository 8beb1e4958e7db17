//! The thread that keeps outcomes.

use std::path::Path;

use reprise_contract::outcome::Times;
use reprise_contract::protocol::Incarnation;
use reprise_contract::{Ending, Gaps, Histogram, NotSentReason, Outcome, Phase};
use reprise_report::{OutcomeFileError, OutcomeWriter};

use super::clock::WorkerClock;
use super::ledger::{Contradiction, Ledger, check_clock};
use super::mapping::to_run_time;
use super::{Arrival, ArrivalError, Kept, LostRequests, LostShard, Planned, Stored};
use crate::coordinator::{BatchCounts, account};

pub(super) struct Writer {
    file: Option<OutcomeWriter>,
    ledger: Ledger,
    workers: Vec<Worker>,
    gaps: Histogram,
}

/// What is known of the worker of a shard.
#[derive(Default)]
struct Worker {
    /// Whose clock it is.
    incarnation: Option<Incarnation>,
    clock: WorkerClock,
}

impl Writer {
    pub(super) fn create(path: &Path, planned: Planned) -> Result<Self, OutcomeFileError> {
        Ok(Self {
            file: Some(OutcomeWriter::create(path)?),
            workers: planned.shards.iter().map(|_| Worker::default()).collect(),
            ledger: Ledger::new(planned),
            gaps: Histogram::default(),
        })
    }

    pub(super) fn keep(&mut self, arrival: Arrival) -> Result<Stored, ArrivalError> {
        let Arrival {
            index,
            head,
            mut outcomes,
            t0_manager_ns,
        } = arrival;
        let worker = usize::try_from(index)
            .ok()
            .and_then(|at| self.workers.get_mut(at));
        let worker = worker.ok_or(Contradiction::NoShard(index))?;
        if worker.incarnation.as_ref() != Some(&head.incarnation) {
            *worker = Worker {
                incarnation: Some(head.incarnation.clone()),
                clock: WorkerClock::default(),
            };
        }
        check_clock(&head)?;
        worker.clock.add(&head.clock);
        self.ledger.note(index, &outcomes)?;
        let mut counts = BatchCounts::default();
        if !outcomes.is_empty() {
            let t0_manager_ns = t0_manager_ns.ok_or(Contradiction::NoClock("T0 is not past"))?;
            if !worker.clock.is_known() {
                return Err(Contradiction::NoClock("nothing is known of its clock").into());
            }
            let clock = &worker.clock;
            let to_run = |time: i64| {
                let manager_ns = clock.to_manager_ns(head.t0_local_ns.saturating_add(time));
                manager_ns.saturating_sub(t0_manager_ns)
            };
            for outcome in &mut outcomes {
                count(&mut counts, outcome);
                let offset_ns = self.ledger.offset_ns(outcome.request);
                outcome.worker = index;
                outcome.clock_error_ns = Some(to_run_time(outcome, offset_ns, to_run));
                self.ledger.note_done(outcome);
            }
            self.append(&outcomes)?;
        }
        self.gaps.merge(&head.gaps);
        Ok(Stored {
            counts,
            clock: self.workers[usize::try_from(index).unwrap_or_default()]
                .clock
                .numbers(),
        })
    }

    /// The file takes them, or is given up: after a failure nothing says what it holds.
    fn append(&mut self, outcomes: &[Outcome]) -> Result<(), ArrivalError> {
        let appended = self.file.as_mut().ok_or(ArrivalError::Ended)?.append(outcomes);
        if appended.is_err() {
            self.file = None;
        }
        Ok(appended?)
    }

    /// Adds what was certainly not sent of lost shards, and completes the file.
    pub(super) fn finish(&mut self, lost: &[LostShard]) -> Result<Kept, ArrivalError> {
        let mut kept_lost = Vec::new();
        for shard in lost {
            let planned = self.ledger.planned();
            let requests = usize::try_from(shard.index)
                .ok()
                .and_then(|at| planned.shards.get(at));
            let requests = requests.ok_or(Contradiction::NoShard(shard.index))?;
            let account = account(&planned.schedule, requests, shard.at_ns, |number| {
                self.ledger.ended(number)
            });
            let rows: Vec<_> = account
                .not_sent
                .iter()
                .filter_map(|&number| not_sent(planned, shard.index, number))
                .collect();
            kept_lost.push(LostRequests {
                index: shard.index,
                not_sent: u32::try_from(rows.len()).unwrap_or(u32::MAX),
                unknown: account.unknown,
            });
            self.append(&rows)?;
        }
        let file = self.file.take().ok_or(ArrivalError::Ended)?;
        Ok(Kept {
            path: file.finish()?,
            gaps: std::mem::take(&mut self.gaps),
            lost: kept_lost,
            clocks: self.workers.iter().map(|worker| worker.clock.numbers()).collect(),
        })
    }
}

fn count(counts: &mut BatchCounts, outcome: &Outcome) {
    counts.outcomes += 1;
    match outcome.ending {
        Ending::Completed => counts.completed += 1,
        Ending::Failed(_) => counts.failed += 1,
        Ending::Cancelled | Ending::Dropped | Ending::NotSent(_) => {}
    }
    if let (Some(due), Some(sent)) = (outcome.times.due, outcome.times.sent) {
        counts.lag_max_ns = counts.lag_max_ns.max(sent - due);
    }
}

/// The outcome of a request that its lost worker did not send.
fn not_sent(planned: &Planned, index: u32, number: u32) -> Option<Outcome> {
    let request = usize::try_from(number)
        .ok()
        .and_then(|at| planned.schedule.requests.get(at))?;
    let turn = planned.content.turn(request.turn);
    Some(Outcome {
        request: number,
        session: turn.session(),
        turn: request.place,
        request_id: turn.request_id().map(str::to_owned),
        phase: if request.is_warmup {
            Phase::Warmup
        } else {
            Phase::Measured
        },
        ending: Ending::NotSent(NotSentReason::WorkerLost),
        times: Times {
            recorded: request.offset_ns,
            due: request.offset_ns,
            ..Times::default()
        },
        connect_ns: None,
        gaps: Gaps::default(),
        output_chunks: 0,
        input_tokens: None,
        cached_tokens: None,
        output_tokens: None,
        requested_output_tokens: None,
        status: None,
        error: None,
        request_bytes: 0,
        answer_bytes: 0,
        target: 0,
        worker: index,
        clock_error_ns: None,
    })
}
