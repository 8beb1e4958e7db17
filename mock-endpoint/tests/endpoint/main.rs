//! The endpoint from outside: over real connections and as a program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod log;
mod program;
mod support;
