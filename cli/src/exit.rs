//! How the process ends: 0 done, 1 the run failed or measured nothing, 2 the input is wrong.

use std::error::Error;
use std::process::ExitCode;

use reprise_contract::summary::Verdict;
use reprise_dataset_manager::prepare::{Fault, PrepareError};

/// The input is wrong; nothing was sent.
const WRONG_INPUT: u8 = 2;

/// Why a command did not do what it was asked to.
pub(crate) enum Failure {
    /// The input is wrong. The text is for people and complete.
    Input(String),
    /// It was cancelled before anything was measured.
    Cancelled,
    /// Something else.
    Run(anyhow::Error),
}

impl Failure {
    /// Wrong input, as an error says it.
    pub(crate) fn input(error: impl Error) -> Self {
        Self::Input(error.to_string())
    }

    /// What kept a trace from becoming content.
    pub(crate) fn preparing(error: PrepareError) -> Self {
        match error.fault() {
            Fault::Input => Self::input(error),
            Fault::Cancelled => Self::Cancelled,
            Fault::System => Self::Run(error.into()),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

/// What a command did, where it did something.
pub(crate) enum Done {
    /// It showed something.
    Shown,
    /// It ran a replay, which ended like this.
    Replayed(Verdict),
}

/// Says what went wrong, and gives the exit code.
pub(crate) fn code(result: Result<Done, Failure>) -> ExitCode {
    match result {
        Ok(Done::Shown | Done::Replayed(Verdict::Succeeded)) => ExitCode::SUCCESS,
        Ok(Done::Replayed(Verdict::Failed | Verdict::Cancelled)) => ExitCode::FAILURE,
        Err(Failure::Input(message)) => {
            eprintln!("{message}");
            ExitCode::from(WRONG_INPUT)
        }
        Err(Failure::Cancelled) => {
            eprintln!("Cancelled before anything was sent.");
            ExitCode::FAILURE
        }
        Err(Failure::Run(error)) => {
            // Every error says all there is to say; its sources would say it again.
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
