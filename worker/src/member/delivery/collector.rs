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
