//! How exactly requests arrive when they are due, judged by the endpoint's clock.
//!
//! `scripts/bench schedule_accuracy`. Reprise has one core, the mock endpoint the other.

mod support;

use anyhow::Result;
use support::{Mock, Run, quantile_ms, run, write_trace};

fn main() -> Result<()> {
    println!("| load | lateness p50 | p99 | max | lag p99 as reported | max |");
    println!("| --- | --- | --- | --- | --- | --- |");
    // One record each; the rate makes the schedule.
    let rate = [
        "--set",
        "replay.schedule=Rate",
        "--set",
        "replay.rate={perSecond: 500, arrivals: Poisson}",
    ];
    measure("2,000 records, Poisson, 500/s", &[0.0; 2_000], &rate)?;
    // A second of quiet, then the burst, so that nothing is warm but what the replay warmed itself.
    let burst: Vec<f64> = std::iter::once(0.0)
        .chain(std::iter::repeat_n(1_000.0, 200))
        .collect();
    measure("200 records at one instant", &burst, &[])
}

fn measure(load: &str, offsets_ms: &[f64], arguments: &[&str]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.jsonl");
    write_trace(&trace, offsets_ms.iter().copied(), 20)?;
    let mock = Mock::start(folder.path(), &[])?;
    let run: Run = run(&mock, &trace, folder.path(), arguments)?;
    let mut lateness = run.lateness_ns(&mock.stop()?)?;
    lateness.sort_unstable();
    let lag = run.summary.lag.as_ref();
    println!(
        "| {load} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms |",
        quantile_ms(&lateness, 0.5),
        quantile_ms(&lateness, 0.99),
        quantile_ms(&lateness, 1.0),
        lag.map_or(f64::NAN, |lag| lag.p99_ms),
        lag.map_or(f64::NAN, |lag| lag.max_ms),
    );
    Ok(())
}
