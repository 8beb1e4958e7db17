//! What spans the crates: servers to test against, end-to-end suites, benchmarks.
//!
//! - [`scripted_server`]: an HTTP server that does exactly what a test says, wrong things too;
//! - [`answers`]: the bytes of answers for it;
//! - [`plans`]: from the lines of a trace to a plan;
//! - [`runs`]: replays a plan and holds its outcomes to what is true of every run.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "this is test code throughout: a test fails by panicking"
)]

pub mod answers;
pub mod plans;
pub mod runs;
pub mod scripted_server;
