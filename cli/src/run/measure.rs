//! Replays a plan in this process and keeps its outcomes.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use reprise_contract::Histogram;
use reprise_dataset_manager::result::OUTCOMES_FILE;
use reprise_report::{OutcomeFileError, OutcomeWriter};
use reprise_worker::{Batch, Plan, ReplayError, Replayed, replay};

use super::progress::Replaying;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// Batches of outcomes that wait to be written, at most: some seconds' worth under any load.
const BATCHES: usize = 128;

/// Replays the plan; its outcomes go to `outcomes.parquet` in `folder` as they come. Gives the gaps between chunks of all measured
/// and completed answers, too.
pub(super) fn measure(
    plan: Plan,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(Replayed, Histogram), Failure> {
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
    let gaps = kept?;
    writer.finish()?;
    Ok((replayed?, gaps))
}

fn keep(
    batches: &Receiver<Batch>,
    writer: &mut OutcomeWriter,
    progress: &Replaying,
) -> Result<Histogram, OutcomeFileError> {
    let mut gaps = Histogram::default();
    loop {
        match batches.recv_timeout(TICK) {
            Ok(batch) => {
                progress.count(&batch.outcomes);
                writer.append(&batch.outcomes)?;
                gaps.merge(&batch.gaps);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(gaps),
        }
        progress.tick();
    }
}
