//! What the parts of Reprise say to each other.
//!
//! - [`clock`]: what round trips tell of the difference between two clocks;
//! - [`credentials`]: which names stand for credentials;
//! - [`outcome`]: what is kept of one request, and its Arrow schema (`outcomes.parquet` has the same columns);
//! - [`histogram`]: a fixed-layout histogram that merges exactly;
//! - [`plan`]: what a run sends, as far as it is not content;
//! - [`protocol`]: what the dataset-manager, its workers and the operator say to each other;
//! - [`summary`]: the result of a run, `summary.json`;
//! - [`termination`]: what a process of a run leaves as its termination message.
//!
//! Nothing here does I/O. A time is in nanoseconds since T0, the instant that offset 0 of the schedule stands for,
//! unless its name says otherwise.

pub mod clock;
pub mod credentials;
pub mod digest;
pub mod histogram;
pub mod outcome;
pub mod plan;
pub mod protocol;
pub mod summary;
pub mod termination;

pub use digest::Digest;
pub use histogram::Histogram;
pub use outcome::{Ending, FailureCause, Gaps, NotSentReason, Outcome, Phase, TokenSource};
pub use summary::Summary;
