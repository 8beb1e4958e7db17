//! The life of a worker, from joining to going home.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use reprise_contract::protocol::{Capacity, Directive, Release};

use super::arming::{Agreed, Proposal, agree, decline};
use super::client::Client;
use super::clock::{LocalClock, ManagerClock};
use super::early::Early;
use super::events::{Event, tell};
use super::exit::Failure;
use super::fate::{Fate, fate};
use super::joining::{Joining, Welcome, join};
use super::loading::{Loaded, load};
use super::orders::Orders;
use super::replaying::{Replaying, replay};
use super::scratch::Scratch;
use super::settings::Settings;
use super::signals::Signals;
use super::stopping::Stopping;
use crate::{Pace, Running, Standby, StopCause, calibrate};

/// How often it is looked whether the manager still answers.
const LOOK: Duration = Duration::from_millis(500);

/// What the parts of a worker's life share.
pub(super) struct Life<'a> {
    pub(super) settings: &'a Settings,
    pub(super) client: Client,
    pub(super) clock: ManagerClock,
    pub(super) orders: Orders,
    pub(super) scratch: Scratch,
    pub(super) stopping: Stopping,
    fate: Fate,
}

/// Lives until the manager releases this worker.
///
/// # Errors
/// What ends it otherwise.
pub(super) async fn live(settings: &Settings) -> Result<Release, Failure> {
    let signals = Signals::new()?;
    let (fate, failures) = fate();
    let life = Life {
        settings,
        client: Client::new(settings)?,
        clock: ManagerClock::new(LocalClock::start()),
        orders: Orders::new(),
        scratch: Scratch::new(settings.scratch.as_deref())?,
        stopping: Stopping::default(),
        fate,
    };
    let mut early = Early::new(failures, signals, &life.orders);
    let loaded = tokio::select! {
        biased;
        end = early.end() => return end,
        prepared = life.prepare() => match prepared? {
            Prepared::Ready(loaded) => *loaded,
            Prepared::Released(release) => return Ok(release),
        },
    };
    let Loaded {
        mut standby,
        outcomes,
        watermark,
    } = loaded;
    loop {
        let proposal = tokio::select! {
            biased;
            end = early.end() => return end,
            agreed = agree(&life.client, &life.clock) => match agreed? {
                Agreed::Start(proposal) => proposal,
                Agreed::Released(release) => return Ok(release),
            },
        };
        match life.start(standby, proposal, &mut early).await {
            Started::Going { running, t0_local_ns } => {
                let replaying = Replaying {
                    running,
                    outcomes,
                    watermark,
                    t0_local_ns,
                };
                return replay(&life, replaying, early).await;
            }
            Started::CalledOff(again) => standby = again,
            Started::Ended(end) => return end,
        }
    }
}

/// What preparing came to.
enum Prepared {
    Ready(Box<Loaded>),
    Released(Release),
}

/// What starting came to.
enum Started {
    /// T0 has passed.
    Going { running: Running, t0_local_ns: i64 },
    /// Nothing was sent, and another T0 is to be agreed on.
    CalledOff(Standby),
    /// Nothing was sent, and the worker ends.
    Ended(Result<Release, Failure>),
}

impl Life<'_> {
    /// From nothing to a replay that only waits for its start, on a known clock.
    async fn prepare(&self) -> Result<Prepared, Failure> {
        let capacity = measure(self.settings.threads, self.scratch.part("calibration")?).await?;
        let welcome = match join(&self.client, self.settings, capacity).await? {
            Joining::Welcome(welcome) => *welcome,
            Joining::Released(release) => return Ok(Prepared::Released(release)),
        };
        tell(&Event::Joined {
            shard: welcome.shard,
            workers: welcome.plan.workers.get(),
        });
        self.keep_in_touch(&welcome)?;
        let control = &self.stopping.control;
        match load(&self.client, self.settings, &self.scratch, control, welcome).await {
            Ok(loaded) => {
                self.clock.is_known().await;
                Ok(Prepared::Ready(Box::new(loaded)))
            }
            Err(failure @ Failure::Plan(_)) => {
                decline(&self.client, &failure.to_string()).await?;
                Err(failure)
            }
            Err(failure) => Err(failure),
        }
    }

    /// From joining on: follows the manager's clock and directives, and notices when it is gone.
    fn keep_in_touch(&self, welcome: &Welcome) -> Result<(), Failure> {
        let (manager, fate) = (welcome.manager.clone(), self.fate.clone());
        self.clock.keep(self.client.apart()?, manager, fate)?;
        tokio::spawn(self.orders.clone().poll(self.client.clone(), self.fate.clone()));
        tokio::spawn(bear_silence(
            self.client.clone(),
            self.settings.manager_timeout,
            self.fate.clone(),
        ));
        Ok(())
    }

    /// Starts the replay, and waits until T0 has passed: until then it can be called off.
    async fn start(&self, standby: Standby, proposal: Proposal, early: &mut Early) -> Started {
        let t0_local_ns = self.clock.to_local_ns(proposal.t0_manager_ns);
        let t0 = self.clock.local.instant(t0_local_ns);
        tell(&Event::Going {
            epoch: proposal.epoch,
            clock_error: Duration::from_nanos(self.clock.map().error_ns()),
        });
        let pace = Pace::steered(t0, t0_local_ns);
        tokio::spawn(steer(pace.clone(), self.clock.clone(), proposal.t0_manager_ns));
        let running = standby.start(&pace);
        let end = tokio::select! {
            biased;
            end = early.end() => Some(end),
            () = self.called_off(proposal.epoch) => None,
            () = tokio::time::sleep_until(t0.into()) => return Started::Going { running, t0_local_ns },
        };
        let stopped = running.call_off();
        match (end, stopped) {
            (Some(end), _) => {
                // Should it have been too late: no more than what has gone goes.
                self.stopping.told_to_stop(StopCause::Cancelled);
                Started::Ended(end)
            }
            (None, Ok(standby)) => {
                tell(&Event::CalledOff {
                    epoch: proposal.epoch,
                });
                Started::CalledOff(standby)
            }
            (None, Err(running)) => Started::Going { running, t0_local_ns },
        }
    }

    /// Waits until a proposal later than this one holds.
    async fn called_off(&self, epoch: u32) {
        let is_later = |directive: &Option<Directive>| {
            directive
                .as_ref()
                .is_some_and(|directive| directive.epoch > epoch)
        };
        if self.orders.follow().wait_for(is_later).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Measures what this process can do.
async fn measure(threads: NonZeroUsize, scratch: PathBuf) -> Result<Capacity, Failure> {
    let capacity = tokio::task::spawn_blocking(move || calibrate(threads, &scratch)).await;
    let capacity = capacity.map_err(|_| Failure::Fault("calibration panicked".to_owned()))??;
    tell(&Event::Calibrated { capacity });
    Ok(capacity)
}

/// Ends the worker when the manager has not answered for too long.
async fn bear_silence(client: Client, limit: Duration, fate: Fate) {
    while client.silence() < limit {
        tokio::time::sleep(LOOK).await;
    }
    fate.end(Failure::ManagerSilent { limit });
}

/// Lets the replay follow what is known of the manager's clock.
async fn steer(pace: Pace, clock: ManagerClock, t0_manager_ns: i64) {
    let mut round_trips = clock.round_trips();
    while round_trips.changed().await.is_ok() {
        pace.steer(&clock.map(), t0_manager_ns);
    }
}
