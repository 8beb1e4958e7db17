//! What goes wrong with a run, and what is refused to a worker.

use std::time::Duration;

use reprise_contract::protocol::RefusalCode;

/// Why a run failed before it could measure anything, or could not keep what it measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Workers did not join, or disappeared before T0 and were not replaced.
    #[error(
        "Cannot start the run: {}. Look at the {} of {}: not scheduled, image not pulled, or unable \
         to reach the dataset-manager. REPRISE_REGISTRATION_TIMEOUT is how long they may take.",
        missing_words(missing, *workers, *waited),
        if missing.len() == 1 { "pod" } else { "pods" },
        if missing.len() == 1 { "that worker" } else { "those workers" }
    )]
    WorkersMissing {
        /// Their indexes, ascending.
        missing: Vec<u32>,
        /// How many the run needs.
        workers: u32,
        /// How long they were waited for.
        waited: Duration,
    },
    /// A worker said that it can never be ready.
    #[error("Cannot start the run: worker {index} cannot take part: {message}")]
    WorkerFailed {
        /// Which one.
        index: u32,
        /// Why, in its words.
        message: String,
    },
    /// The schedule is more than the workers can do.
    #[error("{0}")]
    TooFew(String),
    /// Somebody cancelled the run before T0.
    #[error("The run was cancelled before it started: nothing was sent.")]
    Cancelled,
    /// Its deadline passed before T0.
    #[error("The run's deadline passed before it started: nothing was sent. Raise timeoutSeconds.")]
    DeadlinePassed,
    /// The process was told to end before T0.
    #[error("The run was ended before it started: {0}")]
    Stopped(String),
    /// A worker started at a T0 that the others did not start at.
    #[error(
        "Cannot use this run: worker {index} started at a T0 that had been called off, as it was not reached in time. Check the \
         network between workers and dataset-manager, and run again."
    )]
    StartedAlone {
        /// Which one.
        index: u32,
    },
    /// The outcomes cannot be kept.
    #[error("Cannot keep the outcomes of this run: {0}")]
    Storage(String),
    /// The plan could not be made.
    #[error("{0}")]
    Preparation(String),
}

fn missing_words(missing: &[u32], workers: u32, waited: Duration) -> String {
    let (noun, verb) = if missing.len() == 1 {
        ("worker", "was")
    } else {
        ("workers", "were")
    };
    format!(
        "{noun} {} of {workers} {verb} missing for {} s",
        index_words(missing),
        waited.as_secs()
    )
}

/// Ascending indexes, with ranges of three and more shortened.
fn index_words(indexes: &[u32]) -> String {
    let runs = indexes.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{first} to {last}"),
        short => short.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What is refused to a worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another version.
    #[error(
        "Cannot let worker {index} join: it is Reprise {theirs} (protocol {their_protocol}) and the dataset-manager is Reprise \
         {ours} (protocol {our_protocol}). Use one image version for both."
    )]
    WrongVersion {
        /// The worker.
        index: u32,
        /// Its version.
        theirs: String,
        /// Its protocol.
        their_protocol: u32,
        /// The manager's version.
        ours: &'static str,
        /// The manager's protocol.
        our_protocol: u32,
    },
    /// No shard of that number.
    #[error(
        "Cannot use worker index {index}: the run has {workers} workers, with indexes from 0. Start no more than those."
    )]
    NoSuchIndex {
        /// The index.
        index: u32,
        /// How many there are.
        workers: u32,
    },
    /// Another worker lives there.
    #[error(
        "Cannot let a second worker {index} join: {incarnation} was heard from moments ago. If it is lost, try again in some \
         seconds; else give each worker its own index."
    )]
    IndexTaken {
        /// The index.
        index: u32,
        /// Who lives there.
        incarnation: String,
    },
    /// Another worker took its place.
    #[error("Cannot go on as worker {index}: another process has taken its place. End this one.")]
    Replaced {
        /// The index.
        index: u32,
    },
    /// A batch is missing.
    #[error("Cannot take batch {number} of worker {index}: number {wanted} is wanted. Send them in order.")]
    OutOfOrder {
        /// The index.
        index: u32,
        /// The number that came.
        number: u64,
        /// The number that is wanted.
        wanted: u64,
    },
    /// The same batch is being stored.
    #[error(
        "Cannot take batch {number} of worker {index} now: it is being stored. Send it again in a moment."
    )]
    BeingStored {
        /// The index.
        index: u32,
        /// The number.
        number: u64,
    },
    /// The run ended.
    #[error("Cannot take outcomes any more: the run has ended. {0}")]
    Ended(String),
    /// There is no plan.
    #[error("Cannot do that yet: the plan is not ready. Join first, and try again.")]
    NoPlan,
    /// The outcomes are none of this shard.
    #[error("Cannot take a batch of worker {index}: {why}. The worker counts as lost.")]
    Contradicts {
        /// The index.
        index: u32,
        /// What contradicts the plan.
        why: String,
    },
    /// Outcomes cannot be kept any more.
    #[error("Cannot keep outcomes: {0}")]
    NoRoom(String),
}

impl Refused {
    /// Its code on the wire.
    #[must_use]
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::WrongVersion { .. } => RefusalCode::WrongVersion,
            Self::NoSuchIndex { .. } => RefusalCode::NoSuchIndex,
            Self::IndexTaken { .. } => RefusalCode::IndexTaken,
            Self::Replaced { .. } => RefusalCode::Replaced,
            Self::OutOfOrder { .. } => RefusalCode::OutOfOrder,
            Self::BeingStored { .. } | Self::NoPlan | Self::Ended(_) => RefusalCode::NotNow,
            Self::Contradicts { .. } => RefusalCode::Malformed,
            Self::NoRoom(_) => RefusalCode::NoRoom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_workers_are_named() {
        let failure = |missing: &[u32]| {
            let failure = Failure::WorkersMissing {
                missing: missing.to_vec(),
                workers: 9,
                waited: Duration::from_secs(30),
            };
            failure.to_string()
        };
        insta::assert_snapshot!(failure(&[3]), @"Cannot start the run: worker 3 of 9 was missing for 30 s. Look at the pod of that worker: not scheduled, image not pulled, or unable to reach the dataset-manager. REPRISE_REGISTRATION_TIMEOUT is how long they may take.");
        insta::assert_snapshot!(failure(&[0, 1, 3, 4, 5, 8]), @"Cannot start the run: workers 0, 1, 3 to 5, 8 of 9 were missing for 30 s. Look at the pods of those workers: not scheduled, image not pulled, or unable to reach the dataset-manager. REPRISE_REGISTRATION_TIMEOUT is how long they may take.");
    }
}
