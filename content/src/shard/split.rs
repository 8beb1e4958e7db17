//! Which requests are whose.

use std::num::NonZeroU32;

use super::peaks::{Peaks, due_ns};
use crate::schedule::Schedule;

/// A slice of time is at least this long.
const SHORTEST_SLICE_NS: u64 = 1_000_000_000;
/// Counts that are kept, one for each slice and worker, at most. Long schedules and many workers get longer slices.
const MOST_COUNTS: u64 = 1 << 24;

/// Which requests of a plan are whose. Every request is somebody's, and a session's are all one worker's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The requests of each worker, as indexes into the schedule in ascending order.
    pub shards: Vec<Vec<u32>>,
    /// How much of each worker's requests comes at once.
    pub peaks: Vec<Peaks>,
    /// How much of the whole schedule comes at once.
    pub whole: Peaks,
}

/// How evenly requests are spread over the workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Requests of the worker with the fewest.
    pub least: u32,
    /// Requests of the worker with the most.
    pub most: u32,
    /// Requests a worker, on average.
    pub mean: f64,
}

impl Split {
    /// How evenly requests are spread.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let requests = || self.peaks.iter().map(|peaks| peaks.requests);
        Balance {
            least: requests().min().unwrap_or_default(),
            most: requests().max().unwrap_or_default(),
            mean: f64::from(self.whole.requests) / (self.peaks.len().max(1) as f64),
        }
    }
}

/// Splits a plan among workers. Equal inputs give equal parts.
///
/// Whole sessions are dealt out in the order in which they begin. Each goes to the worker that has the fewest requests in the
/// slices of time in which the session has its own, among equals to the one with the fewest in all, among those to the first.
/// So each worker has its share of every second and not only of the whole.
#[must_use]
pub fn split(schedule: &Schedule, workers: NonZeroU32) -> Split {
    let due_ns = due_ns(schedule);
    let slices = Slices::of(&due_ns, workers);
    let mut loads = Loads::new(&slices, workers);
    let mut shards = vec![Vec::new(); workers.get() as usize];
    let mut owners = vec![0; schedule.requests.len()];
    let mut session = Vec::new();
    for (number, request) in (0..).zip(&schedule.requests) {
        if request.place == 0 {
            session.clear();
            let mut turn = Some(number);
            while let Some(index) = turn {
                session.push(index as usize);
                turn = schedule.requests[index as usize].next;
            }
            let slices_of_session = || session.iter().map(|index| slices.at(due_ns[*index]));
            let owner = loads.least(slices_of_session());
            loads.add(owner, slices_of_session());
            for index in &session {
                owners[*index] = owner;
            }
        }
        shards[owners[number as usize]].push(number);
    }
    let peaks = shards
        .iter()
        .map(|numbers| Peaks::of_part(schedule, &due_ns, numbers))
        .collect();
    Split {
        whole: Peaks::of(schedule),
        shards,
        peaks,
    }
}

/// The schedule's time in slices of equal length.
struct Slices {
    first_ns: i64,
    length_ns: u64,
    count: usize,
}

impl Slices {
    fn of(due_ns: &[i64], workers: NonZeroU32) -> Self {
        let first_ns = due_ns.iter().copied().min().unwrap_or_default();
        let span_ns = due_ns.iter().max().map_or(0, |last| last.abs_diff(first_ns));
        let most_slices = (MOST_COUNTS / u64::from(workers.get())).max(1);
        let length_ns = SHORTEST_SLICE_NS.max(span_ns / most_slices + 1);
        Self {
            first_ns,
            length_ns,
            count: usize::try_from(span_ns / length_ns + 1).unwrap_or(usize::MAX),
        }
    }

    fn at(&self, due_ns: i64) -> usize {
        usize::try_from(due_ns.abs_diff(self.first_ns) / self.length_ns).unwrap_or(usize::MAX)
    }
}

/// Requests that each worker has so far.
struct Loads {
    workers: usize,
    /// By slice, then by worker.
    in_slice: Vec<u32>,
    in_all: Vec<u32>,
    /// Of the session at hand: requests of each worker in its slices.
    beside: Vec<u64>,
}

impl Loads {
    fn new(slices: &Slices, workers: NonZeroU32) -> Self {
        let workers = workers.get() as usize;
        Self {
            workers,
            in_slice: vec![0; slices.count.saturating_mul(workers)],
            in_all: vec![0; workers],
            beside: vec![0; workers],
        }
    }

    fn slice(&mut self, slice: usize) -> &mut [u32] {
        &mut self.in_slice[slice * self.workers..][..self.workers]
    }

    /// The worker to take a session with requests in these slices; a slice counts as often as the session is in it.
    fn least(&mut self, slices: impl Iterator<Item = usize>) -> usize {
        self.beside.fill(0);
        for slice in slices {
            let loads = &self.in_slice[slice * self.workers..][..self.workers];
            for (beside, load) in self.beside.iter_mut().zip(loads) {
                *beside += u64::from(*load);
            }
        }
        let keys = self.beside.iter().zip(&self.in_all);
        let least = keys.enumerate().min_by_key(|(_, key)| *key);
        least.map_or(0, |(worker, _)| worker)
    }

    fn add(&mut self, worker: usize, slices: impl Iterator<Item = usize>) {
        for slice in slices {
            self.slice(slice)[worker] += 1;
            self.in_all[worker] += 1;
        }
    }
}
