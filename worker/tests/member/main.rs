//! A worker process against a manager that does what each test says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod http;
mod manager;
mod plan;
mod process;
mod target;

mod arming;
mod delivering;
mod ending;
mod joining;
