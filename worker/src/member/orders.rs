//! What the manager wants: the newest directive, from whichever call told it.

use std::time::{Duration, Instant};

use reprise_contract::protocol::{Directive, RefusalCode};
use tokio::sync::watch;

use super::backoff::Backoff;
use super::client::{CallError, Client};
use super::events::{Event, tell};
use super::exit::Failure;
use super::fate::Fate;

/// A manager that answers at once, again and again, is asked so often.
const SHORTEST_POLL: Duration = Duration::from_millis(50);

/// The newest directive. Clones share it.
#[derive(Clone)]
pub(super) struct Orders(watch::Sender<Option<Directive>>);

impl Orders {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Takes note of a directive, unless a newer one is known.
    pub(super) fn told(&self, directive: Directive) {
        self.0.send_if_modified(|newest| {
            let is_news = newest
                .as_ref()
                .is_none_or(|newest| directive.number > newest.number);
            if is_news {
                tell(&Event::Directed {
                    directive: &directive,
                });
                *newest = Some(directive);
            }
            is_news
        });
    }

    /// Where to look for news.
    pub(super) fn follow(&self) -> watch::Receiver<Option<Directive>> {
        self.0.subscribe()
    }

    fn seen(&self) -> Option<u64> {
        self.0.borrow().as_ref().map(|directive| directive.number)
    }

    /// Asks for directives until the process ends.
    pub(super) async fn poll(self, client: Client, fate: Fate) {
        let mut backoff = Backoff::default();
        loop {
            let asked = Instant::now();
            match client.control(self.seen()).await {
                Ok(directive) => {
                    self.told(directive);
                    backoff.reset();
                    tokio::time::sleep(SHORTEST_POLL.saturating_sub(asked.elapsed())).await;
                }
                Err(error) => {
                    tell(&Event::Unanswered {
                        call: "control",
                        error: &error,
                    });
                    if let Some(failure) = final_refusal(error) {
                        fate.end(failure);
                        return;
                    }
                    backoff.wait().await;
                }
            }
        }
    }
}

/// The failure that a refusal after joining stands for; `None`: try again.
pub(super) fn final_refusal(error: CallError) -> Option<Failure> {
    match error.refusal()? {
        RefusalCode::Replaced => Some(Failure::Replaced),
        RefusalCode::NotNow | RefusalCode::NoRoom | RefusalCode::OutOfOrder | RefusalCode::IndexTaken => None,
        RefusalCode::WrongToken
        | RefusalCode::WrongRole
        | RefusalCode::WrongVersion
        | RefusalCode::NoSuchIndex => Some(Failure::Refused(error)),
        RefusalCode::Malformed | RefusalCode::TooLarge | RefusalCode::NotFound => {
            Some(Failure::Misunderstood(error))
        }
    }
}
