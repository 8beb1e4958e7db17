//! Agreeing on T0: either all workers start, or none has sent anything.

use std::time::{Duration, Instant};

use reprise_contract::protocol::{Confirmed, Readied, Release};

use super::backoff::Backoff;
use super::client::{CallError, Client};
use super::clock::ManagerClock;
use super::events::{Event, tell};
use super::exit::Failure;
use super::orders::final_refusal;

/// Whoever has not heard `Go` so long before T0 does not start.
const GO_UNTIL: Duration = Duration::from_secs(2);
/// A manager that answers at once, again and again, is asked so often.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// What a worker that is ready is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreed {
    /// Start at T0.
    Start(Proposal),
    /// Go home.
    Released(Release),
}

/// A T0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    /// Which proposal it is.
    pub(super) epoch: u32,
    /// T0 on the manager's clock.
    pub(super) t0_manager_ns: i64,
}

/// Says that this worker is ready, until all have confirmed a T0.
///
/// # Errors
/// When the manager refuses for good.
pub(super) async fn agree(client: &Client, clock: &ManagerClock) -> Result<Agreed, Failure> {
    let mut backoff = Backoff::default();
    loop {
        let asked = Instant::now();
        match client.ready(None).await {
            Ok(Readied::NotYet { .. }) => {
                backoff.reset();
                tokio::time::sleep(SHORTEST_POLL.saturating_sub(asked.elapsed())).await;
            }
            Ok(Readied::Released { release }) => return Ok(Agreed::Released(release)),
            Ok(Readied::Start { epoch, t0_manager_ns }) => {
                backoff.reset();
                let proposal = Proposal { epoch, t0_manager_ns };
                match confirm(client, clock, proposal).await? {
                    Some(agreed) => return Ok(agreed),
                    None => tell(&Event::CalledOff { epoch }),
                }
            }
            Err(error) => repeat("ready", error, &mut backoff).await?,
        }
    }
}

/// Confirms a proposal; `None` when it is void, or no answer came in time.
async fn confirm(
    client: &Client,
    clock: &ManagerClock,
    proposal: Proposal,
) -> Result<Option<Agreed>, Failure> {
    let t0 = clock.local.instant(clock.to_local_ns(proposal.t0_manager_ns));
    let Some(until) = t0.checked_sub(GO_UNTIL) else {
        return Ok(None);
    };
    tell(&Event::Proposed {
        epoch: proposal.epoch,
        ahead: t0.saturating_duration_since(Instant::now()),
    });
    let asking = async {
        let mut backoff = Backoff::default();
        loop {
            match client.armed(proposal.epoch, proposal.t0_manager_ns).await {
                Ok(Confirmed::Go) => return Ok(Some(Agreed::Start(proposal))),
                Ok(Confirmed::Moved) => return Ok(None),
                Ok(Confirmed::Released { release }) => return Ok(Some(Agreed::Released(release))),
                Err(error) => repeat("armed", error, &mut backoff).await?,
            }
        }
    };
    match tokio::time::timeout_at(until.into(), asking).await {
        Ok(answer) => answer,
        Err(_) => Ok(None),
    }
}

/// Waits to repeat a call, unless it was refused for good.
async fn repeat(call: &'static str, error: CallError, backoff: &mut Backoff) -> Result<(), Failure> {
    tell(&Event::Unanswered { call, error: &error });
    if let Some(failure) = final_refusal(error) {
        return Err(failure);
    }
    backoff.wait().await;
    Ok(())
}

/// Tells the manager that this worker will never be ready, and waits until it has heard it.
///
/// # Errors
/// When the manager refuses for good.
pub(super) async fn decline(client: &Client, why: &str) -> Result<(), Failure> {
    let mut backoff = Backoff::default();
    loop {
        match client.ready(Some(why.to_owned())).await {
            Ok(_) => return Ok(()),
            Err(error) => repeat("ready", error, &mut backoff).await?,
        }
    }
}
