//! Why a process of a run ended: the one list of reasons.

use serde::{Deserialize, Serialize};

/// Why a process of a run ended. Names are stable: programs and dashboards match them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// Manager: the run succeeded. A result that `lossPolicy: Degrade` marked as degraded is one too.
    Succeeded,
    /// Manager: somebody cancelled the run.
    Cancelled,
    /// Manager: `timeoutSeconds` or a deadline that was set later has passed.
    DeadlinePassed,
    /// Both: the process was told to end (SIGTERM).
    Terminated,
    /// Both: the environment, the run file or the run's secrets are wrong.
    WrongSettings,
    /// Manager: the trace or its tokenizer cannot be had or used.
    DatasetUnavailable,
    /// Manager: preparing took longer than `dataset.startupBudget`.
    StartupBudgetExceeded,
    /// Manager: spec, trace and workers do not go together.
    PlanImpossible,
    /// Manager: workers did not join in time, or were gone before T0 and not replaced.
    WorkersMissing,
    /// Manager: the schedule is more than the workers can do.
    WorkersTooFew,
    /// Manager: a worker cannot take part, such as for a target that it cannot use.
    WorkerFailed,
    /// Manager: a worker was lost after T0, and `lossPolicy` is `Fail`.
    WorkerLost,
    /// Manager: the run was aborted, by `latePolicy: Abort` or as it could not go on.
    Aborted,
    /// Manager: the run ended by itself, and its result says why it is a failure (nothing measured, no output ...).
    RunFailed,
    /// Manager: outcomes or the result cannot be written to the disk.
    OutcomesNotKept,
    /// Manager: the result is there and cannot be stored where `results` wants it.
    ResultsNotStored,
    /// Worker: the manager released it.
    Released,
    /// Worker: the manager cannot be reached, or is another one.
    ManagerGone,
    /// Worker: another process has taken its place.
    Replaced,
    /// Worker: it cannot use the plan or its shard.
    PlanUnusable,
    /// Both: a fault of this machine or of Reprise.
    Internal,
}
