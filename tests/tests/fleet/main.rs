//! Many workers as processes: they must be as one.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod deaths;
mod endpoint;
mod far_away;
mod orders;
mod processes;
mod together;
