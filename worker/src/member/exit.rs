//! How a worker ends: its exit codes, and every failure that leads to one.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use reprise_contract::protocol::{Incarnation, Release};
use reprise_contract::termination::{Process, Reason, TerminationMessage};

use super::client::{CallError, ClientError};
use super::scratch::ScratchError;
use super::settings::Problems;
use crate::{CalibrateError, ReplayError};

/// The exit codes of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The manager released it: the run is over, or goes on or fails without it.
    Released = 0,
    /// Anything that no other code stands for.
    Failed = 1,
    /// Its settings are wrong, or the manager does not take it as it is.
    WrongSettings = 2,
    /// The manager of this run is gone, or was never reached.
    ManagerGone = 3,
    /// It was told to end (SIGTERM).
    Terminated = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What ends a worker other than being released.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Its environment is wrong.
    #[error(transparent)]
    Settings(#[from] Problems),
    /// Its secrets are wrong.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The manager does not take it as it is.
    #[error("Cannot take part in the run: {0}")]
    Refused(#[source] CallError),
    /// The manager does not understand one of its calls.
    #[error("Cannot go on: the dataset-manager refuses what this worker sends. {0}")]
    Misunderstood(#[source] CallError),
    /// It could not join in time.
    #[error(
        "Cannot join the run at {manager} within {} s: {last}. Check that the dataset-manager runs and can be reached from here; \
         REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS and REPRISE_REGISTRATION_TIMEOUT say how long to try.",
        limit.as_secs()
    )]
    NotJoined {
        /// Where the manager should be.
        manager: String,
        /// How long it tried.
        limit: Duration,
        /// What came of it last.
        last: String,
    },
    /// The manager does not answer any more.
    #[error(
        "Cannot go on without the manager of this run: it has not answered for {} s. Look at the dataset-manager's log; \
         REPRISE_MANAGER_TIMEOUT says how long to bear it.",
        limit.as_secs()
    )]
    ManagerSilent {
        /// How long that was borne.
        limit: Duration,
    },
    /// Another life of the manager answers.
    #[error(
        "Cannot go on: the manager of this run is gone. It was {ours}, and {theirs} answers in its place. Start the run again."
    )]
    OtherManager {
        /// Whom this worker joined.
        ours: Incarnation,
        /// Who answers now.
        theirs: Incarnation,
    },
    /// Another worker took its place.
    #[error(
        "Cannot go on: another process has taken this worker's place. Nothing is to be done if this one was given up; \
         else give each worker an index of its own."
    )]
    Replaced,
    /// The plan or the shard is of no use here. The manager knows.
    #[error("Cannot use this worker's part of the plan: {0}")]
    Plan(String),
    /// A signal.
    #[error(
        "Ended by a signal before the manager released this worker. What was measured until then was delivered: {delivered}."
    )]
    Terminated {
        /// Whether everything was.
        delivered: Delivered,
    },
    /// No place for files.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The system refused something.
    #[error("Cannot start this worker: {0}. Raise the limits on threads and open files.")]
    System(#[from] io::Error),
    /// What it can do cannot be measured.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The replay broke.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A fault.
    #[error("Cannot go on: {0}. This is a fault in Reprise.")]
    Fault(String),
}

/// How much of what was measured has reached the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// All of it.
    All,
    /// So many outcomes are not known to be there.
    AllBut(u64),
}

impl std::fmt::Display for Delivered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => formatter.write_str("all of it"),
            Self::AllBut(outcomes) => write!(formatter, "all but {outcomes} outcomes"),
        }
    }
}

impl Failure {
    /// The code that the process exits with.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Settings(_) | Self::Client(_) | Self::Refused(_) => Exit::WrongSettings,
            Self::NotJoined { .. } | Self::ManagerSilent { .. } | Self::OtherManager { .. } => {
                Exit::ManagerGone
            }
            Self::Terminated { .. } => Exit::Terminated,
            Self::Replaced
            | Self::Misunderstood(_)
            | Self::Plan(_)
            | Self::Scratch(_)
            | Self::System(_)
            | Self::Calibrate(_)
            | Self::Replay(_)
            | Self::Fault(_) => Exit::Failed,
        }
    }

    fn reason(&self) -> Reason {
        match self {
            Self::Settings(_) | Self::Client(_) | Self::Refused(_) => Reason::WrongSettings,
            Self::NotJoined { .. } | Self::ManagerSilent { .. } | Self::OtherManager { .. } => {
                Reason::ManagerGone
            }
            Self::Terminated { .. } => Reason::Terminated,
            Self::Replaced => Reason::Replaced,
            Self::Plan(_) => Reason::PlanUnusable,
            Self::Misunderstood(_)
            | Self::Scratch(_)
            | Self::System(_)
            | Self::Calibrate(_)
            | Self::Replay(_)
            | Self::Fault(_) => Reason::Internal,
        }
    }
}

/// The message that the pod leaves.
pub(super) fn last_words(end: &Result<Release, Failure>) -> TerminationMessage {
    let (reason, message) = match end {
        Ok(release) => (Reason::Released, release_words(*release).to_owned()),
        Err(failure) => (failure.reason(), failure.to_string()),
    };
    TerminationMessage::new(Process::Worker, reason, message)
}

fn release_words(release: Release) -> &'static str {
    match release {
        Release::RunOver => "The run is over, and the manager has all that this worker measured.",
        Release::ShardLost => "This worker's part of the run was lost before; the manager sent it home.",
        Release::RunFailed => "The run failed before it started: nothing was sent.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_success_and_its_message_says_why() {
        let words = last_words(&Ok(Release::RunOver));
        assert_eq!(words.kind, Process::Worker);
        assert_eq!(words.reason, Reason::Released);
        insta::assert_snapshot!(words.message);
    }

    #[test]
    fn a_failure_has_the_message_for_people() {
        let failure = Failure::ManagerSilent {
            limit: Duration::from_mins(5),
        };
        assert_eq!(failure.exit(), Exit::ManagerGone);
        let words = last_words(&Err(failure));
        assert_eq!(words.reason, Reason::ManagerGone);
        insta::assert_snapshot!(words.message);
    }
}
