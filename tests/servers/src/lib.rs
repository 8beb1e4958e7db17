//! Servers to test against. Each starts on a free port of this machine, remembers what it was asked where it can, and ends
//! when it is dropped.
//!
//! What runs beside our own code (versitygw, nginx, Python) is installed by `scripts/tools` and found on the path that
//! `scripts/env.sh` sets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

pub mod http;
pub mod hub;
pub mod namespaces;
mod process;
pub mod relay;
pub mod s3;

pub use namespaces::Namespace;
pub use process::{Process, free_port};
pub use relay::{Line, Relay};
pub use s3::S3Server;
