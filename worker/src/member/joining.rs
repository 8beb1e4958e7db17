//! Announcing the worker until the manager takes it.

use std::time::{Duration, Instant};

use reprise_contract::plan::PlanHead;
use reprise_contract::protocol::{Capacity, Incarnation, Join, Joined, PROTOCOL, RefusalCode, Release};

use super::backoff::Backoff;
use super::client::{CallError, Client};
use super::events::{Event, tell};
use super::exit::Failure;
use super::settings::Settings;

/// A manager that answers at once, again and again, is asked so often.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// What joining came to.
pub(super) enum Joining {
    /// It takes part.
    Welcome(Box<Welcome>),
    /// It may go home.
    Released(Release),
}

/// What a worker is given that takes part.
pub(super) struct Welcome {
    /// The manager's life.
    pub(super) manager: Incarnation,
    /// The shard to fetch.
    pub(super) shard: u32,
    /// What all requests have in common.
    pub(super) plan: PlanHead,
}

/// Announces the worker again and again, until the manager takes it or its time is over.
///
/// # Errors
/// When the manager will never take it, or the time is over.
pub(super) async fn join(
    client: &Client,
    settings: &Settings,
    capacity: Capacity,
) -> Result<Joining, Failure> {
    let announcement = Join {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        index: settings.index,
        incarnation: settings.incarnation.clone(),
        capacity,
    };
    let mut last = "it was not tried".to_owned();
    let attempts = async {
        let mut backoff = Backoff::default();
        loop {
            let asked = Instant::now();
            match client.join(&announcement).await {
                Ok(Joined::Welcome { manager, shard, plan }) => {
                    return Ok(Joining::Welcome(Box::new(Welcome {
                        manager,
                        shard,
                        plan: *plan,
                    })));
                }
                Ok(Joined::Released { release }) => return Ok(Joining::Released(release)),
                Ok(Joined::NotYet { doing }) => {
                    last = format!("the plan is not ready, the dataset-manager is {doing}");
                    backoff.reset();
                    tokio::time::sleep(SHORTEST_POLL.saturating_sub(asked.elapsed())).await;
                }
                Err(error) if is_passing(&error) => {
                    last = error.to_string();
                    backoff.wait().await;
                }
                Err(error) => return Err(Failure::Refused(error)),
            }
            tell(&Event::Waiting { why: &last });
        }
    };
    match tokio::time::timeout(settings.join_within, attempts).await {
        Ok(joined) => joined,
        Err(_) => Err(Failure::NotJoined {
            manager: settings.manager.to_string(),
            limit: settings.join_within,
            last,
        }),
    }
}

/// Whether it is worth while to try again.
fn is_passing(error: &CallError) -> bool {
    match error.refusal() {
        None | Some(RefusalCode::NotNow | RefusalCode::IndexTaken | RefusalCode::NoRoom) => true,
        Some(
            RefusalCode::WrongToken
            | RefusalCode::WrongRole
            | RefusalCode::WrongVersion
            | RefusalCode::Malformed
            | RefusalCode::TooLarge
            | RefusalCode::NoSuchIndex
            | RefusalCode::Replaced
            | RefusalCode::OutOfOrder
            | RefusalCode::NotFound,
        ) => false,
    }
}
