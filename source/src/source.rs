//! What a source is.

use std::future::Future;

use bytes::Bytes;

use crate::error::Problem;

/// One kind of place that references point to, set up for one reference.
pub(crate) trait Source: Send + 'static {
    /// What the source reads from once it is open.
    type Bytes: StoredBytes;

    /// Opens what the reference names. All that can be known to go wrong goes wrong here.
    fn open(&self) -> impl Future<Output = Result<Self::Bytes, Problem>> + Send;
}

/// The bytes as they are stored, in order. Dropping it ends the reading.
pub(crate) trait StoredBytes: Send {
    /// How many there are, where the source says so.
    fn length(&self) -> Option<u64>;

    /// The next ones, at most a few MiB; `None` after the last one. A source that is cut short is an error.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Problem>> + Send;
}
