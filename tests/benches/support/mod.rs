//! Runs the released binaries against each other, each on a core of its own, and reads what both sides noted.

#![allow(dead_code, reason = "each benchmark uses its part")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reprise_contract::{Outcome, Summary};
use reprise_mock_endpoint::Arrival;
use reprise_report::OutcomeReader;

const REPLAY_CORE: &str = "0";
const MOCK_CORE: &str = "1";

/// A released binary, beside the benchmark's own folder.
pub(crate) fn binary(name: &str) -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let path = here
        .parent()
        .and_then(Path::parent)
        .context("no target folder")?
        .join(name);
    ensure!(
        path.exists(),
        "{} is not there: run scripts/bench, which builds it",
        path.display()
    );
    Ok(path)
}

fn on_core(core: &str, name: &str) -> Result<Command> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", core]).arg(binary(name)?);
    Ok(command)
}

/// A mock endpoint in a process of its own, logging arrivals.
pub(crate) struct Mock {
    process: Child,
    url: String,
    log: PathBuf,
}

impl Mock {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Result<Self> {
        let log = folder.join("arrivals.jsonl");
        let mut process = on_core(MOCK_CORE, "reprise-mock-endpoint")?
            .args(["--port", "0", "--log"])
            .arg(&log)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut ready = String::new();
        BufReader::new(process.stdout.take().context("no standard output")?).read_line(&mut ready)?;
        let url = ready
            .split_whitespace()
            .last()
            .context("the mock endpoint did not start")?
            .to_owned();
        Ok(Self { process, url, log })
    }

    /// Stops it; gives back the arrivals in the order of their instants.
    pub(crate) fn stop(mut self) -> Result<Vec<Arrival>> {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.process.wait()?;
        let lines = BufReader::new(std::fs::File::open(&self.log)?).lines();
        let mut arrivals: Vec<Arrival> = lines
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect::<Result<_>>()?;
        arrivals.sort_by_key(|arrival| arrival.arrival_unix_ns);
        Ok(arrivals)
    }
}

/// A run that is over.
pub(crate) struct Run {
    pub(crate) summary: Summary,
    pub(crate) outcomes: Vec<Outcome>,
    /// The most memory that the process held, in MiB.
    pub(crate) peak_memory_mib: u64,
    /// When the process was started, in nanoseconds since the Unix epoch.
    pub(crate) started_unix_ns: u64,
}

/// Runs `reprise run` on a trace against the mock.
pub(crate) fn run(mock: &Mock, trace: &Path, folder: &Path, arguments: &[&str]) -> Result<Run> {
    let started_unix_ns = u64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_nanos())?;
    let results = folder.join("results");
    let mut process = on_core(REPLAY_CORE, "reprise")?
        .args([
            "run",
            "--format",
            "mooncake_trace",
            "--model",
            "mock",
            "--target",
            &mock.url,
            "--source",
        ])
        .arg(trace)
        .arg("--output")
        .arg(&results)
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()?;
    let peak_memory_mib = watch(&mut process)?;
    let summary = serde_json::from_slice(&std::fs::read(results.join("summary.json"))?)?;
    let batches = OutcomeReader::open(&results.join("outcomes.parquet"))?;
    let outcomes = batches.collect::<Result<Vec<_>, _>>()?.concat();
    Ok(Run {
        summary,
        outcomes,
        peak_memory_mib,
        started_unix_ns,
    })
}

/// Waits for the end; gives back the most memory seen.
fn watch(process: &mut Child) -> Result<u64> {
    let status = format!("/proc/{}/status", process.id());
    let begun = Instant::now();
    let mut peak_kib = 0;
    loop {
        if let Some(exit) = process.try_wait()? {
            ensure!(exit.success(), "reprise ended with {exit}");
            return Ok(peak_kib >> 10);
        }
        ensure!(
            begun.elapsed() < Duration::from_mins(15),
            "reprise did not end within 15 minutes"
        );
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let high_water = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = high_water.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak_kib = peak_kib.max(kib.unwrap_or_default());
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Run {
    /// T0 in nanoseconds since the Unix epoch.
    pub(crate) fn t0_unix_ns(&self) -> Result<i64> {
        let t0: jiff::Timestamp = self.summary.started_at.parse()?;
        Ok(i64::try_from(t0.as_nanosecond())?)
    }

    /// How late each request arrived at the endpoint, by the endpoint's clock against the schedule, in nanoseconds: absolute,
    /// the way over the network included. The n-th arrival is held against the n-th due request.
    pub(crate) fn lateness_ns(&self, arrivals: &[Arrival]) -> Result<Vec<i64>> {
        ensure!(
            arrivals.len() == self.outcomes.len(),
            "{} arrived of {}",
            arrivals.len(),
            self.outcomes.len()
        );
        let t0 = self.t0_unix_ns()?;
        let mut due: Vec<i64> = self
            .outcomes
            .iter()
            .filter_map(|outcome| outcome.times.due)
            .collect();
        due.sort_unstable();
        let arrived = arrivals
            .iter()
            .map(|arrival| i64::try_from(arrival.arrival_unix_ns).map(|at| at - t0));
        let arrived: Vec<i64> = arrived.collect::<Result<_, _>>()?;
        Ok(arrived
            .iter()
            .zip(&due)
            .map(|(arrived, due)| arrived - due)
            .collect())
    }
}

/// Writes a trace of length-only records, one for each offset in milliseconds.
pub(crate) fn write_trace(
    path: &Path,
    offsets_ms: impl Iterator<Item = f64>,
    input_length: u32,
) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for offset in offsets_ms {
        writeln!(
            file,
            r#"{{"timestamp": {offset:.6}, "input_length": {input_length}, "output_length": 2}}"#
        )?;
    }
    Ok(file.flush()?)
}

/// The value at `quantile` by nearest rank, in milliseconds.
pub(crate) fn quantile_ms(sorted_ns: &[i64], quantile: f64) -> f64 {
    let rank =
        reprise_contract::histogram::nearest_rank(sorted_ns.len() as u64, quantile).unwrap_or_default();
    sorted_ns[usize::try_from(rank).unwrap_or_default()] as f64 / 1e6
}
