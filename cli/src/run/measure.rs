//! Runs the plan and keeps its outcomes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use reprise_content::Digest;
use reprise_content::schedule::Load;
use reprise_contract::Outcome;
use reprise_contract::summary::{ScheduleProvenance, TargetProvenance, Warning};
use reprise_report::{OutcomeFileError, OutcomeWriter};
use reprise_worker::{Plan, Replayed, replay};

use super::plan::Planned;
use super::progress::Replaying;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Where outcomes lie in the folder for results.
pub(crate) const OUTCOMES_FILE: &str = "outcomes.parquet";

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Batches of outcomes that wait to be written, at most: some seconds' worth under any load.
const BATCHES: usize = 128;

/// A replay that is over, and where its outcomes are.
pub(crate) struct Measured {
    pub(crate) replayed: Replayed,
    pub(crate) outcomes: PathBuf,
    pub(crate) planned: u64,
    pub(crate) load: Load,
    pub(crate) schedule: ScheduleProvenance,
    pub(crate) target: TargetProvenance,
    pub(crate) warnings: Vec<Warning>,
}

/// Replays the plan; its outcomes go to `outcomes.parquet` in `folder` as they come.
pub(crate) fn measure(planned: Planned, folder: &Path, interrupt: &Interrupt) -> Result<Measured, Failure> {
    let Planned { plan, load, warnings } = planned;
    let (schedule, target) = (schedule_provenance(&plan), target_provenance(&plan));
    let requests = plan.schedule.requests.len() as u64;
    let mut writer = OutcomeWriter::create(&folder.join(OUTCOMES_FILE))?;
    let progress = Replaying::show(requests, plan.schedule.last_offset_ns());

    let (send, batches) = sync_channel(BATCHES);
    let control = interrupt.control().clone();
    let replaying = thread::spawn(move || replay(plan, &control, &send));
    let kept = keep(&batches, &mut writer, &progress);
    if kept.is_err() {
        // Nothing that cannot be kept is sent any more.
        interrupt.control().cancel();
    }
    let replayed = replaying
        .join()
        .map_err(|_| reprise_worker::ReplayError::Panicked)?;
    progress.finish();
    kept?;
    Ok(Measured {
        replayed: replayed?,
        outcomes: writer.finish()?,
        planned: requests,
        load,
        schedule,
        target,
        warnings,
    })
}

fn keep(
    batches: &Receiver<Vec<Outcome>>,
    writer: &mut OutcomeWriter,
    progress: &Replaying,
) -> Result<(), OutcomeFileError> {
    loop {
        match batches.recv_timeout(TICK) {
            Ok(batch) => {
                progress.count(&batch);
                writer.append(&batch)?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        progress.tick();
    }
}

fn schedule_provenance(plan: &Plan) -> ScheduleProvenance {
    ScheduleProvenance {
        mode: plan.schedule.mode.name().to_owned(),
        hash: Digest::to_string(&plan.schedule.hash()),
        requests: plan.schedule.requests.len() as u64,
        left_out: u64::from(plan.schedule.left_out.total()),
    }
}

fn target_provenance(plan: &Plan) -> TargetProvenance {
    TargetProvenance {
        urls: plan
            .targets
            .iter()
            .map(|target| target.url().to_string())
            .collect(),
        api: plan.template.api.name().to_owned(),
    }
}
