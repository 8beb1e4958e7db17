//! Traces in, turns out: what every format must do, and what each one does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod first_record;
mod mooncake_sessions;
mod mooncake_trace;
mod parquet_traces;
mod published_traces;
mod reading;
mod workload_trace;
