//! Replays a plan in this process and keeps its outcomes.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use reprise_contract::Outcome;
use reprise_dataset_manager::result::OUTCOMES_FILE;
use reprise_report::{OutcomeFileError, OutcomeWriter};
use reprise_worker::{Plan, ReplayError, Replayed, replay};

use super::progress::Replaying;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Batches of outcomes that wait to be written, at most: some seconds' worth under any load.
const BATCHES: usize = 128;

/// Replays the plan; its outcomes go to `outcomes.parquet` in `folder` as they come.
pub(super) fn measure(plan: Plan, folder: &Path, interrupt: &Interrupt) -> Result<Replayed, Failure> {
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
    let replayed = replaying.join().map_err(|_| ReplayError::Panicked)?;
    progress.finish();
    kept?;
    writer.finish()?;
    Ok(replayed?)
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
