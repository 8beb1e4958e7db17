//! Where what ends a worker early is announced.

use tokio::sync::mpsc;

use super::exit::Failure;

/// Announces what ends the worker. Clones announce to the same life.
#[derive(Clone)]
pub(super) struct Fate(mpsc::UnboundedSender<Failure>);

/// Hears what ends the worker.
pub(super) struct FateHeard(mpsc::UnboundedReceiver<Failure>);

/// Both ends.
pub(super) fn fate() -> (Fate, FateHeard) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Fate(sender.clone()), FateHeard(receiver))
}

impl Fate {
    /// Ends the worker with this failure, unless something else did.
    pub(super) fn end(&self, failure: Failure) {
        // A life that does not listen any more has ended.
        let _ = self.0.send(failure);
    }
}

impl FateHeard {
    /// Waits for the first failure.
    pub(super) async fn heard(&mut self) -> Failure {
        match self.0.recv().await {
            Some(failure) => failure,
            None => std::future::pending().await,
        }
    }
}
