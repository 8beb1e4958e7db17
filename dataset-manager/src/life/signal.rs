//! The signal that tells the process to end (SIGTERM, or Ctrl-C where it runs in a terminal).

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Whether the process was told to end, and how long it has left.
pub(super) struct Told {
    token: CancellationToken,
    at: Arc<OnceLock<Instant>>,
    grace: Duration,
}

impl Told {
    /// Listens for the signal.
    pub(super) fn listen(grace: Duration) -> io::Result<Self> {
        let (token, at) = (CancellationToken::new(), Arc::new(OnceLock::new()));
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (heard, heard_at) = (token.clone(), at.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            heard_at.get_or_init(Instant::now);
            heard.cancel();
        });
        Ok(Self { token, at, grace })
    }

    pub(super) fn is_told(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Ends when the process is told to.
    pub(super) async fn told(&self) {
        self.token.cancelled().await;
    }

    /// `wanted`, or what is left of the grace period where that is less.
    pub(super) fn at_most(&self, wanted: Duration) -> Duration {
        let left = |at: &Instant| (*at + self.grace).saturating_duration_since(Instant::now());
        self.at.get().map_or(wanted, |at| wanted.min(left(at)))
    }
}
