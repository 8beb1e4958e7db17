//! What the parts of Reprise say to each other.
//!
//! - [`credentials`]: which names stand for credentials;
//! - [`outcome`]: what is kept of one request, and its Arrow schema (`outcomes.parquet` has the same columns);
//! - [`histogram`]: a fixed-layout histogram that merges exactly;
//! - [`summary`]: the result of a run, `summary.json`.
//!
//! Nothing here does I/O. A time is in nanoseconds since T0, the instant that offset 0 of the schedule stands for,
//! unless its name says otherwise.

pub mod credentials;
pub mod digest;
pub mod histogram;
pub mod outcome;
pub mod summary;

pub use digest::Digest;
pub use histogram::Histogram;
pub use outcome::{Ending, FailureCause, Gaps, NotSentReason, Outcome, Phase, TokenSource};
pub use summary::Summary;
