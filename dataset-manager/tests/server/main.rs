//! The server as workers, the operator and people meet it: over TLS, with tokens, on a real network.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod access;
mod examples;
mod gathering;
mod limits;
mod manager;
mod results;
