//! What waits for the network, until it is done or somebody ends it.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tokio_util::sync::CancellationToken;

use super::error::PrepareError;
use super::observer::{Activity, Observer, Ongoing};

/// Runs futures on this thread, which must not be one of a runtime. A cancellation drops them. Tells the observer what is
/// going on.
pub struct Waiting<'a> {
    /// There until this is dropped.
    runtime: Option<Runtime>,
    cancel: &'a CancellationToken,
    observer: &'a dyn Observer,
}

impl<'a> Waiting<'a> {
    /// Starts a runtime of its own.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn new(cancel: &'a CancellationToken, observer: &'a dyn Observer) -> Result<Self, PrepareError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(PrepareError::System)?;
        Ok(Self {
            runtime: Some(runtime),
            cancel,
            observer,
        })
    }

    /// What the future gives.
    pub(super) fn wait<T, E: Into<PrepareError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, PrepareError> {
        let Some(runtime) = &self.runtime else {
            return Err(PrepareError::Cancelled);
        };
        runtime.block_on(async {
            select! {
                result = work => result.map_err(Into::into),
                () = self.cancel.cancelled() => Err(PrepareError::Cancelled),
            }
        })
    }

    /// Says that something begins; it lasts until what is given back is dropped.
    pub(super) fn begin(&self, activity: Activity) -> Ongoing<'a> {
        Ongoing::begin(self.observer, activity)
    }

    /// Ends the work from outside.
    pub(super) fn cancel(&self) -> &'a CancellationToken {
        self.cancel
    }

    /// Who hears how it goes.
    pub(super) fn observer(&self) -> &'a dyn Observer {
        self.observer
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
