//! The plan as one process replays it.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use reprise_content::store::Content;
use reprise_dataset_manager::planned::Planned;
use reprise_worker::{Plan, RequestHeaders, Target};

use crate::exit::Failure;

/// The whole plan, for this process.
pub(super) fn whole(
    planned: &Planned,
    content: &Content,
    threads: Option<NonZeroUsize>,
) -> Result<Plan, Failure> {
    let head = &planned.head;
    let targets = head
        .targets
        .iter()
        .map(|url| Target::parse(url, head.template.api));
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(Plan {
        targets: targets.collect::<Result<_, _>>().map_err(Failure::input)?,
        headers: RequestHeaders::new(headers).map_err(Failure::input)?,
        template: head.template.clone(),
        schedule: planned.schedule.clone(),
        content: content.clone(),
        timeout: head.timeout,
        late_policy: head.late_policy,
        late_threshold: head.late_threshold,
        duration: head.duration,
        threads: threads
            .or_else(|| available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN),
    })
}
