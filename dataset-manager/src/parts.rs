//! The parts of a plan, one for each worker, and what comes back of them.

use std::io::Write;
use std::sync::Arc;

use reprise_content::shard::{self, Split};
use reprise_content::store::Content;
use reprise_contract::protocol::{Capacity, Stop};
use reprise_crds::LossPolicy;
use reprise_report::{EndedBy, Loss, OnLoss, Part, PartClock, Workers};

use crate::planned::Planned;
use crate::result::Finished;
use crate::server::{Gathered, PlanServed, WorkerResult};

/// The parts of a plan, one for each worker.
#[derive(Clone, Debug)]
pub struct Parts {
    split: Arc<Split>,
    chosen_by: String,
}

impl Parts {
    /// Splits the plan among its workers. Whole sessions go to one worker each. `chosen_by` says who chose how many workers there
    /// are.
    #[must_use]
    pub fn of(planned: &Planned, chosen_by: &str) -> Self {
        Self {
            chosen_by: chosen_by.to_owned(),
            split: Arc::new(shard::split(&planned.schedule, planned.head.workers)),
        }
    }

    /// The plan as the server hands it out.
    #[must_use]
    pub fn serve(&self, planned: &Planned, content: &Content) -> PlanServed {
        let schedule = planned.schedule.clone();
        let shards: Vec<Arc<[u32]>> = self
            .split
            .shards
            .iter()
            .map(|numbers| numbers.as_slice().into())
            .collect();
        let write_shard = {
            let (content, schedule, shards) = (content.clone(), schedule.clone(), shards.clone());
            move |index: u32, sink: &mut dyn Write| {
                let numbers = shards.get(index as usize).map_or(&[][..], |numbers| numbers);
                shard::write(&content, &schedule, numbers, sink)
            }
        };
        let split = self.split.clone();
        PlanServed {
            head: planned.head.clone(),
            content: content.clone(),
            schedule,
            shards,
            write_shard: Arc::new(write_shard),
            enough: Box::new(move |capacities: &[Capacity]| {
                shard::enough(&split, capacities).map_err(|error| error.to_string())
            }),
        }
    }

    /// What the workers left. `loss_policy` says what a lost one means.
    #[must_use]
    pub fn finished(&self, gathered: Gathered, loss_policy: LossPolicy) -> Finished {
        let capacities = gathered
            .workers
            .iter()
            .filter_map(|worker| worker.record.capacity);
        Finished {
            started_at: gathered.t0,
            ended_by: match gathered.stop {
                None => EndedBy::Completion,
                Some(Stop::Cancelled) => EndedBy::Cancel,
                Some(Stop::DeadlinePassed) => EndedBy::Deadline,
                Some(Stop::Aborted { message }) => EndedBy::Abort { message },
            },
            threads: capacities.map(|capacity| capacity.threads).sum(),
            gaps: gathered.gaps,
            warnings: Vec::new(),
            workers: Some(Workers {
                chosen_by: self.chosen_by.clone(),
                on_loss: match loss_policy {
                    LossPolicy::Fail => OnLoss::Fail,
                    LossPolicy::Degrade => OnLoss::Degrade,
                },
                parts: gathered.workers.iter().map(part).collect(),
            }),
        }
    }
}

/// What the report wants to know of a worker.
fn part(worker: &WorkerResult) -> Part {
    let loss = worker.record.loss.as_ref();
    Part {
        requests: worker.record.requests.into(),
        clock: worker.clock.map(|clock| PartClock {
            error_ns: clock.error_ns,
            drift_ppm: clock.drift_ppm,
            samples: clock.samples,
        }),
        lost: loss.map(|loss| Loss {
            at_ns: loss.at_ns,
            unknown: worker.lost.map_or(0, |lost| lost.unknown.into()),
            not_sent: worker.lost.map_or(0, |lost| lost.not_sent.into()),
        }),
    }
}
