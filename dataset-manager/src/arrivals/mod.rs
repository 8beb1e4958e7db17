//! Outcomes on their way from workers to `outcomes.parquet`.
//!
//! One thread takes batches from a bounded queue, holds them against the plan, maps their times from the worker's
//! clock to run time and appends them to the file. A batch is acknowledged only after that.

mod clock;
mod ledger;
mod mapping;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use reprise_content::schedule::Schedule;
use reprise_content::store::Content;
use reprise_contract::protocol::batch::BatchHead;
use reprise_contract::{Histogram, Outcome};
use reprise_report::OutcomeFileError;
use tokio::sync::{mpsc, oneshot};

use crate::coordinator::BatchCounts;

pub use clock::ClockNumbers;
pub use ledger::Contradiction;

/// Batches that wait to be written, at most.
const QUEUE: usize = 32;

/// What outcomes are held against.
#[derive(Clone)]
pub struct Planned {
    /// The turns.
    pub content: Content,
    /// The requests.
    pub schedule: Arc<Schedule>,
    /// The requests of each shard, as indexes into the schedule in ascending order.
    pub shards: Arc<[Arc<[u32]>]>,
}

/// A batch to keep.
#[derive(Debug)]
pub struct Arrival {
    /// The shard that it is of.
    pub index: u32,
    /// Its head.
    pub head: BatchHead,
    /// Its outcomes, in the worker's time.
    pub outcomes: Vec<Outcome>,
    /// T0 on the manager's clock; `None` before it stands, when there are no outcomes either.
    pub t0_manager_ns: Option<i64>,
}

/// A batch that was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stored {
    /// What it adds up to.
    pub counts: BatchCounts,
    /// What is known of the worker's clock.
    pub clock: Option<ClockNumbers>,
}

/// A shard that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostShard {
    /// Its index.
    pub index: u32,
    /// When the loss was certain, in nanoseconds since T0; `None`: nothing was ever sent.
    pub at_ns: Option<i64>,
}

/// What became of a lost shard's requests that have no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostRequests {
    /// The shard.
    pub index: u32,
    /// Certainly not sent: they are in the file, as not sent.
    pub not_sent: u32,
    /// Perhaps sent: they are not in the file.
    pub unknown: u32,
}

/// All outcomes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The gaps between chunks, of all workers.
    pub gaps: Histogram,
    /// What became of the requests of lost shards.
    pub lost: Vec<LostRequests>,
    /// What is known of the workers' clocks, by index.
    pub clocks: Vec<Option<ClockNumbers>>,
}

/// Outcomes that were not kept.
#[derive(Debug, thiserror::Error)]
pub enum ArrivalError {
    /// They contradict the plan.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The disk does not take them.
    #[error(transparent)]
    Storage(#[from] OutcomeFileError),
    /// The writer has ended.
    #[error("Cannot keep outcomes: their writer has ended. This is a fault in Reprise.")]
    Ended,
}

enum Message {
    Keep(Box<Arrival>, oneshot::Sender<Result<Stored, ArrivalError>>),
    Finish(Vec<LostShard>, oneshot::Sender<Result<Kept, ArrivalError>>),
}

/// Keeps outcomes. Clones share the file.
#[derive(Clone)]
pub struct Arrivals {
    queue: mpsc::Sender<Message>,
}

impl Arrivals {
    /// Starts the file that will be `path`.
    ///
    /// # Errors
    /// When the folder does not exist or is not writable.
    pub fn start(path: PathBuf, planned: Planned) -> Result<Self, OutcomeFileError> {
        let mut writer = writer::Writer::create(&path, planned)?;
        let (queue, mut messages) = mpsc::channel(QUEUE);
        // A thread of its own: compressing and writing are no work for the runtime that answers workers.
        let run = move || {
            while let Some(message) = messages.blocking_recv() {
                match message {
                    Message::Keep(arrival, reply) => {
                        // Whoever asked may be gone; what was kept stays kept.
                        let _ = reply.send(writer.keep(*arrival));
                    }
                    Message::Finish(lost, reply) => {
                        let _ = reply.send(writer.finish(&lost));
                        return;
                    }
                }
            }
        };
        std::thread::Builder::new()
            .name("outcomes".to_owned())
            .spawn(run)
            .map_err(|source| OutcomeFileError::Open { path, source })?;
        Ok(Self { queue })
    }

    /// Keeps a batch: when this returns, the writer has it.
    ///
    /// # Errors
    /// When it contradicts the plan, or the disk does not take it.
    pub async fn keep(&self, arrival: Arrival) -> Result<Stored, ArrivalError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Keep(Box::new(arrival), reply);
        self.queue.send(message).await.map_err(|_| ArrivalError::Ended)?;
        answer.await.map_err(|_| ArrivalError::Ended)?
    }

    /// Adds what was certainly not sent of lost shards, and completes the file.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub async fn finish(&self, lost: Vec<LostShard>) -> Result<Kept, ArrivalError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Finish(lost, reply);
        self.queue.send(message).await.map_err(|_| ArrivalError::Ended)?;
        answer.await.map_err(|_| ArrivalError::Ended)?
    }
}

#[cfg(test)]
mod tests;
