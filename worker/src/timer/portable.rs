//! An alarm where there is none of the operating system: tokio's, exact to a millisecond.

use std::cell::Cell;
use std::io;
use std::time::Instant;

use tokio::sync::Notify;

/// An alarm for one instant.
pub(super) struct Alarm {
    instant: Cell<Option<Instant>>,
    changed: Notify,
}

impl Alarm {
    #[allow(clippy::unnecessary_wraps, reason = "other systems can fail here")]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            instant: Cell::new(None),
            changed: Notify::new(),
        })
    }

    /// Sets the alarm, in place of an earlier setting.
    pub(super) fn set(&self, instant: Instant) {
        self.instant.set(Some(instant));
        self.changed.notify_one();
    }

    /// Ends when the alarm has rung.
    pub(super) async fn rang(&self) {
        loop {
            let Some(instant) = self.instant.get() else {
                self.changed.notified().await;
                continue;
            };
            tokio::select! {
                () = tokio::time::sleep_until(instant.into()) => {
                    self.instant.set(None);
                    return;
                }
                () = self.changed.notified() => {}
            }
        }
    }
}
