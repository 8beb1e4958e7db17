//! What waits for the network, until it is done or somebody presses Ctrl-C.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tokio::time::sleep;

use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// How soon an interrupt is noticed.
const TICK: Duration = Duration::from_millis(20);

/// Runs futures on this thread. An interrupt drops them.
pub(crate) struct Waiting<'a> {
    /// There until this is dropped.
    runtime: Option<Runtime>,
    interrupt: &'a Interrupt,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(interrupt: &'a Interrupt) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            runtime: Some(runtime),
            interrupt,
        })
    }

    /// What the future gives; its error is one of the input.
    pub(crate) fn wait<T, E: Error>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure> {
        let Some(runtime) = &self.runtime else {
            return Err(Failure::Cancelled);
        };
        runtime.block_on(async {
            select! {
                result = work => result.map_err(Failure::input),
                () = self.interrupted() => Err(Failure::Cancelled),
            }
        })
    }

    async fn interrupted(&self) {
        while !self.interrupt.is_set() {
            sleep(TICK).await;
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // A name look-up may still be under way. Nothing waits for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
