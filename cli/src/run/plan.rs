//! The plan as one process replays it.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use reprise_content::store::Content;
use reprise_dataset_manager::planned::Planned;
use reprise_worker::{Plan, RequestNumbers};

use crate::exit::Failure;

/// The whole plan, for this process.
pub(super) fn whole(
    planned: &Planned,
    content: &Content,
    threads: Option<NonZeroUsize>,
) -> Result<Plan, Failure> {
    let threads = threads
        .or_else(|| available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    Plan::new(
        &planned.head,
        content.clone(),
        planned.schedule.as_ref().clone(),
        RequestNumbers::whole(),
        threads,
    )
    .map_err(Failure::input)
}
