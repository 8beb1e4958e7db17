//! How soon a trace of 1,000,000 records starts, and how much memory it takes to replay it.
//!
//! `scripts/bench million_records`. Reprise has one core, the mock endpoint the other.

mod support;

use anyhow::{Context, Result};
use support::{Mock, run, write_trace};

const RECORDS: u32 = 1_000_000;
/// Between two records, in milliseconds: 4,000 requests a second.
const GAP_MS: f64 = 0.25;

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.jsonl");
    write_trace(
        &trace,
        (0..RECORDS).map(|record| f64::from(record) * GAP_MS),
        1_000,
    )?;
    let mock = Mock::start(folder.path(), &[])?;
    let run = run(&mock, &trace, folder.path(), &[])?;
    let arrivals = mock.stop()?;
    let first = arrivals.first().context("nothing arrived")?.arrival_unix_ns;
    let first_s = (first - run.started_unix_ns) as f64 / 1e9;
    let lag = run.summary.lag.context("nothing was sent")?;
    println!("| records | completed | first request after | peak memory | elapsed | lag p99 |");
    println!("| --- | --- | --- | --- | --- | --- |");
    println!(
        "| {RECORDS} | {} | {first_s:.2} s | {} MiB | {:.1} s | {:.2} ms |",
        run.summary.counts.completed, run.peak_memory_mib, run.summary.elapsed_s, lag.p99_ms
    );
    Ok(())
}
