//! Takes outcomes from the replay as they come, and seals them into batches.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use reprise_contract::protocol::Stop;

use super::sealer::{Moment, Sealer};
use super::spool::{Pressure, Spool};
use crate::member::clock::ManagerClock;
use crate::member::events::{Event, tell};
use crate::member::exit::Failure;
use crate::member::stopping::Stopping;
use crate::{Batch, SentCount};

/// A batch is sealed so often, whether there are outcomes or not: the manager hears that this worker lives, how much it has
/// sent, and how its clock stands.
const BEAT: Duration = Duration::from_millis(500);

/// Takes outcomes from the replay as they come, and seals them into batches.
pub(crate) struct Collector {
    /// What the replay hands on. Its end is the replay's.
    pub(crate) batches: Receiver<Batch>,
    /// Makes batches.
    pub(crate) sealer: Sealer,
    /// Where they wait.
    pub(crate) spool: Spool,
    /// What is known of the manager's clock.
    pub(crate) clock: ManagerClock,
    /// What was sent.
    pub(crate) sent: SentCount,
    /// Stops the replay.
    pub(crate) stopping: Stopping,
}

impl Collector {
    /// Collects until the replay is over. Blocks; to be run in a thread of its own.
    ///
    /// # Errors
    /// When outcomes are not those of the shard.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let result = self.collect();
        self.spool.close();
        result
    }

    fn collect(&mut self) -> Result<(), Failure> {
        let mut beat = Instant::now() + BEAT;
        loop {
            match self
                .batches
                .recv_timeout(beat.saturating_duration_since(Instant::now()))
            {
                Ok(batch) => {
                    let added = self.sealer.add(batch);
                    added.map_err(|error| Failure::Fault(error.to_string()))?;
                    if self.sealer.is_full() {
                        self.seal(false)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    beat = Instant::now() + BEAT;
                    // An empty batch says nothing new while others wait.
                    if !self.sealer.is_empty() || self.spool.is_empty() {
                        self.seal(false)?;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.seal(true)?;
                    tell(&Event::Replayed {
                        outcomes: self.sealer.outcomes() as u64,
                    });
                    return Ok(());
                }
            }
        }
    }

    fn seal(&mut self, is_over: bool) -> Result<(), Failure> {
        let moment = Moment {
            sent: u32::try_from(self.sent.get()).unwrap_or(u32::MAX),
            clock: self.clock.take_waiting(),
            stopped: self.stopping.by_itself(),
            is_leaving: self.stopping.is_leaving(),
            is_over,
        };
        let sealed = self
            .sealer
            .seal(moment)
            .map_err(|error| Failure::Fault(error.to_string()))?;
        if let Pressure::Stop { why } = self.spool.add(sealed.number, sealed.outcomes, sealed.bytes) {
            let message = format!(
                "Cannot keep outcomes while the dataset-manager does not take them: {why}. Give REPRISE_SCRATCH more room."
            );
            self.stopping.stop(&Stop::Aborted { message });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use reprise_contract::protocol::batch;
    use reprise_contract::{Ending, Histogram};

    use super::*;
    use crate::member::clock::LocalClock;
    use crate::member::delivery::sealer::tests::sealer;
    use crate::member::delivery::spool::Room;
    use crate::member::delivery::tests::outcome;

    /// What a collector makes of batches of one outcome each, when its spool has this much room and no disk.
    fn collect(requests: u32, room: Room) -> (Spool, Stopping) {
        let folder = tempfile::tempdir().unwrap();
        let no_folder = folder.path().join("missing");
        let spool = Spool::new(no_folder, room);
        let stopping = Stopping::default();
        let (sender, batches) = sync_channel(requests as usize);
        for number in 0..requests {
            let mut wordy = outcome(number);
            wordy.ending = Ending::Cancelled;
            wordy.error = Some("x".repeat(3 << 20));
            let batch = Batch {
                outcomes: vec![wordy],
                gaps: Histogram::default(),
            };
            sender.send(batch).unwrap();
        }
        drop(sender);
        let collector = Collector {
            batches,
            sealer: sealer(requests),
            spool: spool.clone(),
            clock: ManagerClock::new(LocalClock::start()),
            sent: SentCount::of([]),
            stopping: stopping.clone(),
        };
        collector.run().unwrap();
        (spool, stopping)
    }

    fn drain(spool: &Spool) -> Vec<batch::BatchHead> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut heads = Vec::new();
        while let Some(next) = runtime.block_on(spool.next()).unwrap() {
            heads.push(batch::decode(&next.bytes).unwrap().0);
            spool.acknowledge(next.number + 1);
        }
        heads
    }

    #[test]
    fn a_full_disk_stops_the_run_with_its_cause_and_loses_nothing() {
        let room = Room {
            in_memory: 4 << 20,
            without_disk: 8 << 20,
        };
        let (spool, stopping) = collect(5, room);
        assert_eq!(spool.outcomes(), 5);
        let Some(Stop::Aborted { message }) = stopping.by_itself() else {
            panic!("the run goes on")
        };
        assert!(
            message.starts_with("Cannot keep outcomes while the dataset-manager does not take them:"),
            "{message}"
        );
        assert!(message.ends_with("Give REPRISE_SCRATCH more room."), "{message}");
        let heads = drain(&spool);
        assert_eq!(heads.first().unwrap().stopped, None);
        let last = heads.last().unwrap();
        assert!(last.is_last);
        assert_eq!(last.stopped, Some(Stop::Aborted { message }));
    }

    #[test]
    fn memory_is_enough_for_a_while_without_a_disk() {
        let room = Room {
            in_memory: 4 << 20,
            without_disk: 64 << 20,
        };
        let (spool, stopping) = collect(5, room);
        assert_eq!(stopping.by_itself(), None);
        assert_eq!(drain(&spool).len(), 6);
    }
}
