//! Replays over real sockets: plans in, outcomes out, against the mock endpoint and against servers that misbehave.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod bodies;
mod broken_answers;
mod connections;
mod endings;
mod load;
mod mock;
mod results;
mod schedules;
mod sessions;
mod standby;
mod streams;
mod tls;
