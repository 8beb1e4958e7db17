//! What ends the process before a result is where it should be, and which reason that is.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reprise_contract::termination::Reason;
use reprise_report::OutcomeFileError;

use crate::coordinator::Failure as RunFailure;
use crate::planned::PlanError;
use crate::prepare::{Fault, PrepareError};
use crate::result::ResultError;
use crate::server::{GatherError, StartError};
use crate::storage::StoresError;

/// What ends the process before a result is where it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("Cannot use {} for what the run needs: {source}. Set REPRISE_SCRATCH to a folder that is writable.", path.display())]
    Scratch { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(
        "Cannot use {reference}: it was not ready within {budget:?}, the startup budget{so_far}. Raise dataset.startupBudget, or \
         keep the trace in a cache."
    )]
    StartupBudget {
        reference: String,
        budget: Duration,
        so_far: String,
    },
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Gather(#[from] GatherError),
    #[error(transparent)]
    Run(#[from] RunFailure),
    #[error(
        "The run was ended while outcomes were still missing: the grace period was over. Give the pod a longer \
         terminationGracePeriodSeconds and set REPRISE_GRACE below it."
    )]
    GraceOver,
    #[error(
        "The run was ended before it started: the dataset-manager was told to end (SIGTERM). Nothing was sent."
    )]
    Terminated,
    #[error(transparent)]
    Outcomes(#[from] OutcomeFileError),
    #[error(transparent)]
    Result(#[from] ResultError),
    #[error(transparent)]
    Storage(#[from] StoresError),
    #[error("Cannot go on: {0}. Check the limits of this process.")]
    System(#[source] io::Error),
    #[error("Cannot go on: a thread panicked. This is a fault in Reprise.")]
    Panicked,
}

impl Failure {
    pub(super) fn reason(&self) -> Reason {
        match self {
            Self::Scratch { .. }
            | Self::Start(_)
            | Self::Storage(StoresError::Attempt(_) | StoresError::Credentials { .. }) => {
                Reason::WrongSettings
            }
            Self::Prepare(error) => match error.fault() {
                Fault::Input => Reason::DatasetUnavailable,
                Fault::Cancelled => Reason::Cancelled,
                Fault::System => Reason::Internal,
            },
            Self::StartupBudget { .. } => Reason::StartupBudgetExceeded,
            Self::Plan(_) => Reason::PlanImpossible,
            Self::Run(failure) | Self::Gather(GatherError::Failed(failure)) => of_run(failure),
            Self::Gather(GatherError::Keep(_)) | Self::Outcomes(_) | Self::Result(_) => {
                Reason::OutcomesNotKept
            }
            Self::GraceOver | Self::Terminated => Reason::Terminated,
            Self::Storage(_) => Reason::ResultsNotStored,
            Self::Gather(GatherError::NoPlan) | Self::System(_) | Self::Panicked => Reason::Internal,
        }
    }
}

fn of_run(failure: &RunFailure) -> Reason {
    match failure {
        RunFailure::WorkersMissing { .. } => Reason::WorkersMissing,
        RunFailure::WorkerFailed { .. } => Reason::WorkerFailed,
        RunFailure::TooFew(_) => Reason::WorkersTooFew,
        RunFailure::Cancelled => Reason::Cancelled,
        RunFailure::DeadlinePassed => Reason::DeadlinePassed,
        RunFailure::Stopped(_) => Reason::Terminated,
        RunFailure::StartedAlone { .. } => Reason::Aborted,
        RunFailure::Storage(_) => Reason::OutcomesNotKept,
        RunFailure::Preparation(_) => Reason::Internal,
    }
}
