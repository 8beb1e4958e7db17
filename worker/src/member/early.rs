//! What may end a worker at any moment.

use reprise_contract::protocol::{Directive, Release};
use tokio::sync::watch;

use super::exit::{Delivered, Failure};
use super::fate::FateHeard;
use super::orders::Orders;
use super::signals::Signals;

/// What may end a worker at any moment: a failure, a signal, the manager's word.
pub(super) struct Early {
    pub(super) failures: FateHeard,
    pub(super) signals: Signals,
    pub(super) directives: watch::Receiver<Option<Directive>>,
}

impl Early {
    pub(super) fn new(failures: FateHeard, signals: Signals, orders: &Orders) -> Self {
        Self {
            failures,
            signals,
            directives: orders.follow(),
        }
    }

    /// Waits for an end before T0, when nothing was measured.
    pub(super) async fn end(&mut self) -> Result<Release, Failure> {
        tokio::select! {
            biased;
            failure = self.failures.heard() => Err(failure),
            () = self.signals.heard() => Err(Failure::Terminated { delivered: Delivered::All }),
            release = released(&mut self.directives) => Ok(release),
        }
    }
}

async fn released(directives: &mut watch::Receiver<Option<Directive>>) -> Release {
    loop {
        let release = directives
            .borrow_and_update()
            .as_ref()
            .and_then(|directive| directive.release);
        if let Some(release) = release {
            return release;
        }
        if directives.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
