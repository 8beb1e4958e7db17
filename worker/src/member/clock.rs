//! What this worker knows of the manager's clock, and the thread that keeps asking for it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use reprise_contract::clock::ClockMap;
use reprise_contract::protocol::{ClockSample, Incarnation};
use tokio::sync::watch;

use super::backoff::Backoff;
use super::client::Client;
use super::events::{Event, tell};
use super::exit::Failure;
use super::fate::Fate;

/// Round trips before the clock counts as known.
const FIRST_ROUND_TRIPS: u64 = 16;
/// Samples that wait for the next batch, at most. Beyond it, of two neighbours the better one stays.
const MAX_WAITING: usize = 512;

/// The worker's own clock: nanoseconds since an instant that its process fixed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalClock {
    epoch: Instant,
}

impl LocalClock {
    pub(super) fn start() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    pub(super) fn now_ns(self) -> i64 {
        nanos(self.epoch.elapsed())
    }

    /// The instant at which this clock shows `local_ns`.
    pub(super) fn instant(self, local_ns: i64) -> Instant {
        self.epoch + Duration::from_nanos(local_ns.max(0).unsigned_abs())
    }
}

/// What this worker knows of the manager's clock. Clones share it.
#[derive(Clone)]
pub(super) struct ManagerClock {
    pub(super) local: LocalClock,
    known: Arc<Mutex<Known>>,
    /// How many round trips there were.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Known {
    map: ClockMap,
    /// Since the last batch.
    waiting: Vec<ClockSample>,
}

/// The connection that the clock is asked on, as far as its round trips show it.
#[derive(Debug, Default)]
struct Line {
    least_ns: Option<u64>,
    /// The last answer was left aside.
    is_second_try: bool,
}

impl Line {
    /// Whether the round trip was only that. One that opened the connection first holds TCP's and TLS's handshakes as well, which come
    /// before the manager's stamp: its middle is far from it. The first is such a one, and one of more than twice the least may be,
    /// unless the next is as long.
    fn was_open(&mut self, round_trip_ns: u64) -> bool {
        let is_plain = self.is_second_try
            || self
                .least_ns
                .is_some_and(|least| round_trip_ns <= least.saturating_mul(2));
        self.is_second_try = !is_plain;
        if is_plain {
            self.least_ns = Some(
                self.least_ns
                    .map_or(round_trip_ns, |least| least.min(round_trip_ns)),
            );
        }
        is_plain
    }
}

impl ManagerClock {
    pub(super) fn new(local: LocalClock) -> Self {
        Self {
            local,
            known: Arc::default(),
            count: watch::Sender::new(0),
        }
    }

    /// Asks for the manager's clock from now on, in a thread of its own, so that neither the delivery of outcomes nor anything
    /// else of this process comes between question and answer. Another life of the manager ends the worker.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn keep(&self, client: Client, manager: Incarnation, fate: Fate) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let clock = self.clone();
        thread::Builder::new()
            .name("manager-clock".to_owned())
            .spawn(move || runtime.block_on(clock.ask(client, manager, fate)))?;
        Ok(())
    }

    async fn ask(self, client: Client, manager: Incarnation, fate: Fate) {
        let mut backoff = Backoff::default();
        let mut line = Line::default();
        loop {
            let before_ns = self.local.now_ns();
            match client.clock().await {
                Ok(reading) if reading.manager == manager => {
                    let round_trip_ns = self.local.now_ns().abs_diff(before_ns);
                    backoff.reset();
                    if !line.was_open(round_trip_ns) {
                        continue;
                    }
                    self.add(ClockSample {
                        local_ns: before_ns.saturating_add_unsigned(round_trip_ns / 2),
                        manager_ns: reading.manager_ns,
                        round_trip_ns,
                    });
                    let next_look = self.known().map.next_look();
                    tokio::time::sleep(next_look).await;
                }
                Ok(reading) => {
                    fate.end(Failure::OtherManager {
                        ours: manager,
                        theirs: reading.manager,
                    });
                    return;
                }
                Err(error) => {
                    line = Line::default();
                    tell(&Event::ClockUnanswered { error: &error });
                    backoff.wait().await;
                }
            }
        }
    }

    fn add(&self, sample: ClockSample) {
        {
            let mut known = self.known();
            known.map.add(sample);
            known.waiting.push(sample);
            if known.waiting.len() > MAX_WAITING {
                known.waiting = thinned(&known.waiting);
            }
        }
        self.count.send_modify(|count| *count += 1);
    }

    /// Waits until it is known well enough to agree on T0.
    pub(super) async fn is_known(&self) {
        let mut count = self.count.subscribe();
        // The sender lives as long as this.
        let _ = count.wait_for(|count| *count >= FIRST_ROUND_TRIPS).await;
    }

    /// Waits for the next round trip.
    pub(super) fn round_trips(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// The mapping as it is known now.
    pub(super) fn map(&self) -> ClockMap {
        self.known().map.clone()
    }

    /// What this worker's clock shows at an instant of the manager's.
    pub(super) fn to_local_ns(&self, manager_ns: i64) -> i64 {
        self.known().map.to_local_ns(manager_ns)
    }

    /// Takes the samples that no batch has told of yet.
    pub(super) fn take_waiting(&self) -> Vec<ClockSample> {
        std::mem::take(&mut self.known().waiting)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of two neighbours, the one of the shorter round trip.
fn thinned(samples: &[ClockSample]) -> Vec<ClockSample> {
    samples
        .chunks(2)
        .filter_map(|pair| pair.iter().min_by_key(|sample| sample.round_trip_ns))
        .copied()
        .collect()
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(local_ns: i64, round_trip_ns: u64) -> ClockSample {
        ClockSample {
            local_ns,
            manager_ns: local_ns + 1_000,
            round_trip_ns,
        }
    }

    #[test]
    fn a_round_trip_that_opened_the_connection_is_left_aside_and_a_longer_way_is_not() {
        let mut line = Line::default();
        let were_open = [130, 41, 80, 83, 95, 40, 125, 42, 125, 125].map(|ms| line.was_open(ms));
        // The first opened the connection; 83 and 95 may have, and so may 125, twice.
        assert_eq!(
            were_open,
            [false, true, true, false, true, true, false, true, false, true]
        );
    }

    #[test]
    fn waiting_samples_are_bounded_and_the_better_ones_stay() {
        let clock = ManagerClock::new(LocalClock::start());
        for at in 0..10_000 {
            clock.add(sample(at, if at % 2 == 0 { 50 } else { 900 }));
        }
        let waiting = clock.take_waiting();
        assert!(waiting.len() <= MAX_WAITING, "{}", waiting.len());
        let long_ago = &waiting[..MAX_WAITING / 4];
        assert!(long_ago.iter().all(|sample| sample.round_trip_ns == 50));
        assert!(waiting.is_sorted_by_key(|sample| sample.local_ns));
        assert!(clock.take_waiting().is_empty());
    }
}
