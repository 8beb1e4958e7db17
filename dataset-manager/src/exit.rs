//! How the process ends.

use std::process::ExitCode;

use reprise_contract::termination::Reason;

/// How the process ends: the one list of its exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: the run succeeded, if perhaps degraded.
    Succeeded,
    /// 1: the run failed, was aborted or cancelled, its time was up, or it could not be kept. What was measured is
    /// reported.
    RunFailed,
    /// 2: settings, spec or trace are wrong; nothing was sent.
    WrongInput,
    /// 3: workers are missing, too few, not able to take part, or were lost.
    Workers,
    /// 4: it was told to end (SIGTERM).
    Terminated,
    /// 5: preparing took longer than the startup budget.
    StartupBudget,
    /// 6: the run succeeded, and its result could not be stored where it is to be.
    NotStored,
}

impl Exit {
    /// How the process ends for this reason.
    #[must_use]
    pub const fn of(reason: Reason) -> Self {
        match reason {
            Reason::Succeeded | Reason::Released => Self::Succeeded,
            Reason::WrongSettings | Reason::DatasetUnavailable | Reason::PlanImpossible => Self::WrongInput,
            Reason::WorkersMissing | Reason::WorkersTooFew | Reason::WorkerFailed | Reason::WorkerLost => {
                Self::Workers
            }
            Reason::Terminated => Self::Terminated,
            Reason::StartupBudgetExceeded => Self::StartupBudget,
            Reason::ResultsNotStored => Self::NotStored,
            Reason::Cancelled
            | Reason::DeadlinePassed
            | Reason::Aborted
            | Reason::RunFailed
            | Reason::OutcomesNotKept
            | Reason::ManagerGone
            | Reason::Replaced
            | Reason::PlanUnusable
            | Reason::Internal => Self::RunFailed,
        }
    }

    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::RunFailed => 1,
            Self::WrongInput => 2,
            Self::Workers => 3,
            Self::Terminated => 4,
            Self::StartupBudget => 5,
            Self::NotStored => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
