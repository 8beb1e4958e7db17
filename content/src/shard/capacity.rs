//! How many workers a schedule needs.

use std::num::NonZeroU32;

use reprise_contract::protocol::Capacity;

use super::{Peaks, Split};

/// What a worker must be able to send in a second, in hundredths of what its busiest second asks for: a worker at its limit
/// sends late.
pub const HEAD_ROOM_PERCENT: u32 = 125;

/// Workers that cannot keep up with the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooFew {
    /// Too many requests a second.
    #[error(
        "Cannot replay this schedule with as few workers as {workers}: worker {worker} would have to send {needs} requests within one \
         second (with head room {with_head_room}), and can send {can}. Use {needed} workers, give each more CPU, or lower \
         replay.speed or replay.rate."
    )]
    RequestsPerSecond {
        /// Workers that are there.
        workers: u32,
        /// One that cannot.
        worker: u32,
        /// What its busiest second asks for.
        needs: u32,
        /// That, with [`HEAD_ROOM_PERCENT`].
        with_head_room: u32,
        /// What it can.
        can: u32,
        /// Workers that would do.
        needed: u32,
    },
    /// Too many requests at once.
    #[error(
        "Cannot replay this schedule with as few workers as {workers}: worker {worker} would have to open {needs} connections within 50 ms, \
         and its open files and local ports allow {can}. Use {needed} workers, or raise the limit of open files (ulimit -n)."
    )]
    Connections {
        /// Workers that are there.
        workers: u32,
        /// One that cannot.
        worker: u32,
        /// What its busiest moment asks for.
        needs: u32,
        /// What it can.
        can: u32,
        /// Workers that would do.
        needed: u32,
    },
}

/// Checks that each worker can send its part: `capacities` are those of the workers in their order.
///
/// # Errors
/// The first worker that cannot, with the number of workers that would do if further ones were as weak as the weakest.
pub fn enough(split: &Split, capacities: &[Capacity]) -> Result<(), TooFew> {
    let workers = u32::try_from(split.peaks.len()).unwrap_or(u32::MAX);
    let Some(weakest) = weakest(capacities) else {
        return Ok(());
    };
    // Parts are never exactly even, so the division alone may give no more workers than there are.
    let needed = workers_for(split.whole, weakest).max(workers.saturating_add(1));
    for ((worker, peaks), capacity) in (0..).zip(&split.peaks).zip(capacities) {
        if with_head_room(peaks.busiest_second) > capacity.requests_per_second {
            return Err(TooFew::RequestsPerSecond {
                workers,
                worker,
                needs: peaks.busiest_second,
                with_head_room: with_head_room(peaks.busiest_second),
                can: capacity.requests_per_second,
                needed,
            });
        }
        if peaks.busiest_moment > capacity.connections {
            return Err(TooFew::Connections {
                workers,
                worker,
                needs: peaks.busiest_moment,
                can: capacity.connections,
                needed,
            });
        }
    }
    Ok(())
}

/// A number of workers, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// How many.
    pub workers: NonZeroU32,
    /// Why, for people: completes a sentence.
    pub reason: String,
}

/// How many workers one machine with so many cores should start for a schedule. `capacity` is that of one worker.
#[must_use]
pub fn auto(peaks: Peaks, capacity: Capacity, cores: NonZeroU32) -> Chosen {
    let by_rate = NonZeroU32::MIN.max(needed_for_rate(peaks, capacity));
    let by_connections = NonZeroU32::MIN.max(needed_for_connections(peaks, capacity));
    let needed = by_rate.max(by_connections);
    let demand = if by_connections > by_rate {
        format!(
            "{} requests are due within 50 ms at the busiest, and one worker can open {} connections",
            peaks.busiest_moment, capacity.connections
        )
    } else {
        format!(
            "{} requests are due within the busiest second, which asks for {} a second with head room, and one worker can \
             send {}",
            peaks.busiest_second,
            with_head_room(peaks.busiest_second),
            capacity.requests_per_second
        )
    };
    if needed > cores {
        Chosen {
            workers: cores,
            reason: format!("{demand}: {needed} workers would do, and this machine has {cores} core(s)"),
        }
    } else {
        Chosen {
            workers: needed,
            reason: demand,
        }
    }
}

fn weakest(capacities: &[Capacity]) -> Option<Capacity> {
    let least = |one: Capacity, other: &Capacity| Capacity {
        threads: one.threads.min(other.threads),
        requests_per_second: one.requests_per_second.min(other.requests_per_second),
        connections: one.connections.min(other.connections),
    };
    let (first, others) = capacities.split_first()?;
    Some(others.iter().fold(*first, least))
}

fn workers_for(peaks: Peaks, capacity: Capacity) -> u32 {
    let needed = needed_for_rate(peaks, capacity).max(needed_for_connections(peaks, capacity));
    needed.get()
}

fn needed_for_rate(peaks: Peaks, capacity: Capacity) -> NonZeroU32 {
    shares(with_head_room(peaks.busiest_second), capacity.requests_per_second)
}

fn needed_for_connections(peaks: Peaks, capacity: Capacity) -> NonZeroU32 {
    shares(peaks.busiest_moment, capacity.connections)
}

/// How many shares of at most `share` make up `whole`.
fn shares(whole: u32, share: u32) -> NonZeroU32 {
    NonZeroU32::new(whole.div_ceil(share.max(1))).unwrap_or(NonZeroU32::MIN)
}

fn with_head_room(requests: u32) -> u32 {
    let requests = (u64::from(requests) * u64::from(HEAD_ROOM_PERCENT)).div_ceil(100);
    u32::try_from(requests).unwrap_or(u32::MAX)
}
