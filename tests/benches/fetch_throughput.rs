//! How fast a file is fetched, verified and kept, beside `curl | sha256sum` of the same file.
//!
//! `scripts/bench fetch_throughput`. nginx serves it on this machine. Both sides run in turn, so that whatever else slows
//! the machine down slows both.

mod support;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use reprise_test_servers::http::Nginx;

const BYTES: usize = 1_000_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let nginx = Nginx::start("");
    write_file(&nginx.folder().join("trace.jsonl"))?;
    let url = nginx.url("trace.jsonl");
    let mut rounds = Vec::new();
    // The first one fills the page cache, and does not count.
    for _ in 0..=ROUNDS {
        rounds.push((fetch(&url)?, curl(&url)?));
    }
    let rounds = &rounds[1..];
    let ours = median(rounds.iter().map(|(ours, _)| *ours));
    let theirs = median(rounds.iter().map(|(_, theirs)| *theirs));
    println!("| bytes | reprise fetch | curl \\| sha256sum | throughput as a share of curl's |");
    println!("| --- | --- | --- | --- |");
    println!("| {BYTES} | {ours:.2} s | {theirs:.2} s | {:.2} |", theirs / ours);
    Ok(())
}

/// Lines that differ, as in a trace.
fn write_file(path: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut left = BYTES;
    let mut record = 0_u64;
    while left > 0 {
        let line = format!(
            "{{\"timestamp\": {record}, \"input_length\": {}}}\n",
            record * 7919 % 10_007
        );
        let bytes = &line.as_bytes()[..line.len().min(left)];
        file.write_all(bytes)?;
        left -= bytes.len();
        record += 1;
    }
    Ok(file.flush()?)
}

/// Into a cache of its own, so that nothing is there yet.
fn fetch(url: &str) -> Result<f64> {
    let cache = tempfile::tempdir()?;
    let mut command = Command::new(support::binary("reprise")?);
    command
        .args(["fetch", url])
        .env("REPRISE_CACHE_DIR", cache.path());
    time(&mut command)
}

fn curl(url: &str) -> Result<f64> {
    time(Command::new("sh").args(["-c", "curl --silent --fail \"$0\" | sha256sum", url]))
}

fn time(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let elapsed = begun.elapsed();
    ensure!(
        output.status.success(),
        "{} failed: {}",
        command.get_program().display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(elapsed.as_secs_f64())
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<_> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
