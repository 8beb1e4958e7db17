//! What is worth telling of a worker's life, each told in one place.

use std::path::Path;
use std::time::Duration;

use reprise_contract::protocol::{Capacity, Directive};
use tracing::{debug, error, info, warn};

use super::client::CallError;
use super::exit::Failure;

/// Something that happened.
pub(super) enum Event<'a> {
    /// It measured what it can do.
    Calibrated { capacity: Capacity },
    /// It waits to join.
    Waiting { why: &'a str },
    /// It has a shard.
    Joined { shard: u32, workers: u32 },
    /// The shard is loaded.
    Loaded { requests: usize },
    /// The shard was changed or cut off on its way.
    ShardDamaged,
    /// A call brought no answer of use; it is repeated.
    Unanswered { call: &'a str, error: &'a CallError },
    /// The manager's clock brought no answer.
    ClockUnanswered { error: &'a CallError },
    /// T0 was proposed.
    Proposed { epoch: u32, ahead: Duration },
    /// It starts at T0.
    Going { epoch: u32, clock_error: Duration },
    /// T0 was called off.
    CalledOff { epoch: u32 },
    /// The manager says something new.
    Directed { directive: &'a Directive },
    /// Everything has its outcome.
    Replayed { outcomes: u64 },
    /// Outcomes go to the disk.
    Spilling { folder: &'a Path },
    /// The disk takes no outcomes.
    DiskFailed { why: &'a str },
    /// SIGTERM.
    Terminating { grace: Duration },
    /// The end.
    Ended { failure: &'a Failure },
    /// Last words could not be left.
    NoLastWords { path: &'a Path, why: String },
}

/// Tells it.
pub(super) fn tell(event: &Event<'_>) {
    match event {
        Event::Calibrated { capacity } => info!(
            threads = capacity.threads,
            requests_per_second = capacity.requests_per_second,
            connections = capacity.connections,
            "calibrated"
        ),
        Event::Waiting { why } => info!(why, "waiting to join"),
        Event::Joined { shard, workers } => info!(shard, workers, "joined"),
        Event::Loaded { requests } => info!(requests, "shard loaded"),
        Event::ShardDamaged => warn!("the shard arrived damaged: fetching it again"),
        Event::Unanswered { call, error } => warn!(call, %error, "the manager did not answer as hoped"),
        Event::ClockUnanswered { error } => debug!(%error, "no answer to a question for the clock"),
        Event::Proposed { epoch, ahead } => info!(epoch, ?ahead, "T0 proposed"),
        Event::Going { epoch, clock_error } => info!(epoch, ?clock_error, "starting at T0"),
        Event::CalledOff { epoch } => warn!(epoch, "T0 called off, nothing was sent"),
        Event::Directed { directive } => info!(
            number = directive.number,
            epoch = directive.epoch,
            stop = ?directive.stop,
            release = ?directive.release,
            "directive"
        ),
        Event::Replayed { outcomes } => info!(outcomes, "replayed"),
        Event::Spilling { folder } => {
            warn!(folder = %folder.display(), "the manager is slow: outcomes wait on disk");
        }
        Event::DiskFailed { why } => error!(why, "outcomes that wait cannot be written to disk"),
        Event::Terminating { grace } => warn!(?grace, "told to end: sending stops, outcomes are delivered"),
        Event::Ended { failure } => error!(%failure, "ended"),
        Event::NoLastWords { path, why } => {
            warn!(path = %path.display(), why, "cannot write the termination message");
        }
    }
}
