//! What is known of the run so far, for the status and the termination message.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reprise_contract::Summary;
use reprise_contract::protocol::{Progress, Stage, Stop};
use reprise_contract::summary::Verdict;
use reprise_contract::termination::{Headline, Process, Reason, TerminationMessage};
use reprise_crds::{LossPolicy, ReplayJobSpec};
use reprise_source::{Pinned, Reference};
use serde_json::{Value, json};

use super::failure::Failure;
use crate::prepare::{Activity, Observer, pin_of};
use crate::server::Gathered;

/// A run that came to a result.
pub(super) struct Ended {
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) numbers: Headline,
}

/// What is known of the run so far.
pub(super) struct Story {
    /// As it may be shown.
    reference: Option<String>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    version: Option<String>,
    /// News of the trace that the status does not show yet.
    pin: Option<Value>,
    /// What is going on.
    activity: Option<Activity>,
}

impl Story {
    pub(super) fn new(spec: &ReplayJobSpec) -> Self {
        let reference = Reference::parse(&spec.dataset.source).ok();
        Self {
            reference: reference.map(|reference| reference.to_string()),
            known: Mutex::default(),
        }
    }

    /// The reference as it may be shown.
    pub(super) fn reference(&self) -> String {
        self.reference.clone().unwrap_or_else(|| "the trace".to_owned())
    }

    /// Hears how the preparation goes.
    pub(super) fn observer(self: &Arc<Self>) -> Listener {
        Listener(self.clone())
    }

    /// How far the preparation has come.
    pub(super) fn progress(&self) -> (Stage, Option<Progress>) {
        match &self.known().activity {
            Some(Activity::Fetching { progress, .. }) => {
                (Stage::Fetching, Some(bytes(progress.bytes(), progress.total())))
            }
            Some(Activity::Reading { progress, .. }) => {
                (Stage::Building, Some(bytes(progress.bytes(), progress.total())))
            }
            Some(Activity::Pinning { .. }) | None => (Stage::Pinning, None),
        }
    }

    /// How far it has come, in words that follow a statement.
    pub(super) fn so_far(&self) -> String {
        let mib = |bytes: u64| bytes >> 20;
        match &self.known().activity {
            Some(Activity::Pinning { .. }) => "; its version was being looked up".to_owned(),
            Some(Activity::Fetching { progress, .. }) => {
                let total = progress.total().map(|total| format!(" of {}", mib(total)));
                format!(
                    "; {}{} MiB were downloaded",
                    mib(progress.bytes()),
                    total.unwrap_or_default()
                )
            }
            Some(Activity::Reading { progress, .. }) => {
                format!("; {} MiB of it were read", mib(progress.bytes()))
            }
            None => String::new(),
        }
    }

    /// What the status does not show of the trace yet.
    pub(super) fn take_pin(&self) -> Option<Value> {
        self.known().pin.take()
    }

    /// The message that the process leaves.
    pub(super) fn message(&self, ended: Result<Ended, Failure>) -> TerminationMessage {
        let (reason, message, numbers) = match ended {
            Ok(ended) => (ended.reason, ended.message, Some(ended.numbers)),
            Err(failure) => (failure.reason(), failure.to_string(), None),
        };
        TerminationMessage {
            reference: self.reference.clone(),
            version: self.known().version.clone(),
            numbers,
            ..TerminationMessage::new(Process::DatasetManager, reason, message)
        }
    }

    /// What a panic left behind is still whole: nothing here panics halfway through a change.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(done: u64, total: Option<u64>) -> Progress {
    Progress {
        done,
        total,
        unit: "bytes".to_owned(),
    }
}

/// What ended the sending.
pub(super) struct Course {
    stop: Option<Stop>,
    /// A worker was lost, and that was more than the run bears.
    is_broken: bool,
}

impl Course {
    /// What ended the sending of this run.
    pub(super) fn of(gathered: &Gathered, loss_policy: LossPolicy) -> Self {
        let is_lost = || gathered.workers.iter().any(|worker| worker.record.loss.is_some());
        Self {
            stop: gathered.stop.clone(),
            is_broken: loss_policy == LossPolicy::Fail && is_lost(),
        }
    }
}

impl Ended {
    /// How the run of this summary ended.
    pub(super) fn of(summary: &Summary, course: &Course, was_terminated: bool) -> Self {
        let counts = &summary.counts;
        let numbers = || {
            format!(
                "{} of {} measured requests completed, {} failed.",
                counts.completed, counts.measured, counts.failed
            )
        };
        let reason = match (summary.verdict, &course.stop) {
            _ if was_terminated => Reason::Terminated,
            (Verdict::Succeeded, _) => Reason::Succeeded,
            (Verdict::Cancelled, _) => Reason::Cancelled,
            (Verdict::Failed, Some(Stop::DeadlinePassed)) => Reason::DeadlinePassed,
            (Verdict::Failed, _) if course.is_broken => Reason::WorkerLost,
            (Verdict::Failed, Some(_)) => Reason::Aborted,
            (Verdict::Failed, None) => Reason::RunFailed,
        };
        Self {
            reason,
            message: summary.message.clone().unwrap_or_else(numbers),
            numbers: Headline::of(summary),
        }
    }
}

/// Hears how the preparation goes.
pub(super) struct Listener(Arc<Story>);

impl Observer for Listener {
    fn begin(&self, activity: Activity) {
        self.0.known().activity = Some(activity);
    }

    /// Between two activities the status shows the last one.
    fn end(&self) {}

    fn pinned(&self, trace: &Pinned) {
        let mut known = self.0.known();
        known.version = trace.version().map(ToString::to_string);
        known.pin = Some(json!({
            "reference": trace.reference().to_string(),
            "pin": pin_of(trace),
        }));
    }

    fn fetched(&self, line: &str) {
        tracing::info!("{line}");
    }
}
