//! What a run comes to, when every outcome is there or given up on.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use reprise_contract::Histogram;
use reprise_contract::protocol::Stop;

use super::state::Shared;
use crate::arrivals::{ArrivalError, LostRequests, LostShard};
use crate::coordinator::{Failure, WorkerRecord};

pub use crate::arrivals::ClockNumbers;

/// Runs have no end of their own here: deadlines do.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The outcomes, in run time. Requests that may have been sent by a lost worker are not in it.
    pub outcomes: PathBuf,
    /// T0 on the wall clock.
    pub t0: Timestamp,
    /// Why it was stopped before its end, if it was.
    pub stop: Option<Stop>,
    /// The gaps between chunks of the measured and completed answers.
    pub gaps: Histogram,
    /// The workers, by index.
    pub workers: Vec<WorkerResult>,
}

/// What one worker brought.
#[derive(Clone, Debug)]
pub struct WorkerResult {
    /// Who it was, what it delivered, and how it was lost if it was.
    pub record: WorkerRecord,
    /// What is known of its clock; `None` when it was lost before it said anything.
    pub clock: Option<ClockNumbers>,
    /// What became of its requests without outcome, when it was lost.
    pub lost: Option<LostRequests>,
}

/// A run that measured nothing, or could not keep it.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// See there.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The file of outcomes could not be completed.
    #[error("Cannot keep the outcomes of this run: {0}")]
    Keep(ArrivalError),
    /// There is no plan to gather for.
    #[error("Cannot gather outcomes: there is no plan. This is a fault in Reprise.")]
    NoPlan,
}

pub(super) async fn gather(shared: &Shared) -> Result<Gathered, GatherError> {
    let served = shared.served().ok_or(GatherError::NoPlan)?;
    let over = shared.wait_for(FOREVER, |coordinator, now| {
        coordinator.advance(now);
        if let Some(failure) = coordinator.failure() {
            return Some(Err(failure.clone()));
        }
        let t0_ns = coordinator.t0_ns().filter(|_| coordinator.is_over())?;
        Some(Ok((t0_ns, coordinator.stopped().cloned(), coordinator.records())))
    });
    let (t0_ns, stop, records) = over.await.ok_or(GatherError::NoPlan)??;
    let t0 = shared.wall(t0_ns);
    let lost_shard = |record: &WorkerRecord| {
        record.loss.as_ref().map(|loss| LostShard {
            index: record.index,
            at_ns: loss.at_ns,
        })
    };
    let lost = records.iter().filter_map(lost_shard).collect();
    let kept = match served.arrivals.finish(lost).await {
        Ok(kept) => kept,
        Err(error) => {
            shared.with(|coordinator, _| coordinator.release());
            return Err(GatherError::Keep(error));
        }
    };
    // What they measured is on the disk now.
    shared.with(|coordinator, _| coordinator.release());
    let lost_of = |index| kept.lost.iter().find(|lost| lost.index == index).copied();
    let workers = records
        .into_iter()
        .zip(kept.clocks.iter().copied().chain(std::iter::repeat(None)))
        .map(|(record, clock)| WorkerResult {
            lost: lost_of(record.index),
            clock,
            record,
        });
    Ok(Gathered {
        workers: workers.collect(),
        outcomes: kept.path,
        t0,
        stop,
        gaps: kept.gaps,
    })
}
