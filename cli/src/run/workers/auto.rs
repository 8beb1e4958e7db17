//! How many worker processes it takes.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::thread::available_parallelism;

use reprise_content::shard::{self, Peaks};
use reprise_contract::plan::Mode;
use reprise_crds::ReplayJobSpec;
use reprise_dataset_manager::planned;
use reprise_dataset_manager::prepare::Prepared;
use reprise_worker::calibrate;

use crate::exit::Failure;

/// As many workers as the schedule's peaks take, by what one of them can do here; and why.
pub(super) fn count(
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    threads: Option<NonZeroUsize>,
    scratch: &Path,
) -> Result<(NonZeroU32, String), Failure> {
    let whole = planned::plan(spec, prepared, NonZeroU32::MIN).map_err(Failure::input)?;
    if let Mode::Concurrency(_) = whole.head.mode {
        let reason = "--workers auto: the schedule is a closed loop, which one worker runs alone";
        return Ok((NonZeroU32::MIN, reason.to_owned()));
    }
    let cores = available_parallelism()
        .ok()
        .and_then(|cores| NonZeroU32::try_from(cores).ok());
    let cores = cores.unwrap_or(NonZeroU32::MIN);
    let capacity = calibrate(threads.unwrap_or(NonZeroUsize::MIN), scratch)?;
    let chosen = shard::auto(Peaks::of(&whole.schedule), capacity, cores);
    Ok((chosen.workers, format!("--workers auto: {}", chosen.reason)))
}
