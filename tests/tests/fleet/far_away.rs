//! Workers on other machines: networks and clocks of their own, and a slow line to the manager. They start as one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::{Duration, SystemTime};
use std::{fs, iter};

use jiff::Timestamp;
use reprise_contract::Summary;
use reprise_contract::summary::Verdict;
use reprise_test_servers::{Line, Namespace, Relay};

use crate::endpoint;
use crate::processes::{Fleet, Setting};

/// What the clocks of a worker's machine say too much.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// The wall clock, in milliseconds.
    wall_ms: i32,
    /// The monotonic clock, in seconds: finer cannot be set. Where its zero lies means nothing, so any amount does.
    monotonic_s: i32,
}

/// One for each worker. A machine has run for longer than its clock is set back.
const SHIFTS: [Shift; 3] = [
    Shift {
        wall_ms: 150,
        monotonic_s: 15,
    },
    Shift {
        wall_ms: -80,
        monotonic_s: -8,
    },
    Shift {
        wall_ms: 0,
        monotonic_s: 0,
    },
];
/// Instants at which each worker has one request.
const ROUNDS: usize = 20;
const GAP_MS: usize = 250;
/// How far the workers' first requests may lie apart, and from T0.
const APART_MS: f64 = 10.0;
const FROM_T0_MS: f64 = 5.0;
/// Runs that may be had: a machine whose cores are all taken holds up what was due.
const RUNS: u32 = 3;

/// When requests came, in milliseconds after the instant that the schedule has for them: T0 by the manager's wall clock, plus
/// their offset.
struct Run {
    rounds: Vec<Vec<f64>>,
    summary: Summary,
}

impl Run {
    /// How far the requests of the schedule's beginning lie apart.
    fn apart_ms(&self) -> f64 {
        spread(&self.rounds[0])
    }

    /// How far the farthest of them lies from T0.
    fn off_t0_ms(&self) -> f64 {
        self.rounds[0].iter().map(|late| late.abs()).fold(0.0, f64::max)
    }

    fn is_accurate(&self) -> bool {
        self.apart_ms() < APART_MS && self.off_t0_ms() < FROM_T0_MS
    }

    fn figures(&self) -> String {
        let worst = self.rounds.iter().map(|round| spread(round)).fold(0.0, f64::max);
        let mut text = format!(
            "first requests at T0 {:+.2?} ms, {:.2} ms apart; all rounds at most {worst:.2} ms apart; {:?}\n",
            self.rounds[0],
            self.apart_ms(),
            self.summary.clock_error,
        );
        for worker in &self.summary.workers {
            let (index, lag, clock) = (worker.index, worker.lag, worker.clock);
            writeln!(
                text,
                "  worker {index}: {:?}: {lag:?}, {clock:?}",
                SHIFTS[index as usize]
            )
            .unwrap();
        }
        text
    }
}

fn spread(times: &[f64]) -> f64 {
    let greatest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    greatest - times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Namespaces of all kinds that are needed here, for a moment.
fn why_no_namespaces() -> Option<String> {
    let tried = Command::new("unshare")
        .args(["--net", "--mount", "--time", "--monotonic", "1", "true"])
        .output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// What starts a program on a machine of its own. It ends when whoever started it kills what it got.
///
/// The monotonic clock is shifted by the kernel: faketime would put the wall clock in its place, and the kernel, which ends
/// waits at instants of that clock, would not know.
fn launcher(machine: &Namespace, shift: Shift) -> Vec<String> {
    let into = machine.command("unshare");
    let wall = format!("{:+.3}s", f64::from(shift.wall_ms) / 1_000.0);
    let monotonic = format!("--monotonic={}", shift.monotonic_s);
    iter::once(into.get_program())
        .chain(into.get_args())
        .map(|word| word.to_str().unwrap())
        .chain([
            "--time",
            &monotonic,
            "faketime",
            "--exclude-monotonic",
            "-f",
            &wall,
        ])
        .chain(["setpriv", "--pdeathsig", "KILL"])
        .map(str::to_owned)
        .collect()
}

fn output(launcher: &[String], program: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(&launcher[0])
        .args(&launcher[1..])
        .args(program)
        .output()
        .unwrap();
    assert!(
        status.success(),
        "{launcher:?}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).unwrap()
}

fn unix_ns(time: SystemTime) -> i128 {
    Timestamp::try_from(time).unwrap().as_nanosecond()
}

/// Programs that are started so live on clocks that are wrong by just that.
fn check_clocks(launcher: &[String], shift: Shift) {
    let before = unix_ns(SystemTime::now());
    let said: i128 = output(launcher, &["date", "+%s%N"]).trim().parse().unwrap();
    let after = unix_ns(SystemTime::now());
    let true_time = said - i128::from(shift.wall_ms) * 1_000_000;
    assert!(
        (before..=after).contains(&true_time),
        "{shift:?}: {before} {said} {after}"
    );
    let offsets = output(launcher, &["cat", "/proc/self/timens_offsets"]);
    let monotonic = offsets
        .lines()
        .find(|line| line.starts_with("monotonic"))
        .unwrap();
    let words: Vec<_> = monotonic.split_whitespace().collect();
    assert_eq!(words, ["monotonic", &shift.monotonic_s.to_string(), "0"]);
    let own = fs::read_link("/proc/self/ns/time").unwrap();
    let theirs = output(launcher, &["readlink", "/proc/self/ns/time"]);
    assert_ne!(
        own,
        Path::new(theirs.trim()),
        "a program is in its time namespace"
    );
}

/// Requests that come in threes, one for each worker.
fn write_trace(path: &Path) {
    let mut lines = String::new();
    for request in 0..ROUNDS * SHIFTS.len() {
        let at = request / SHIFTS.len() * GAP_MS;
        writeln!(
            lines,
            r#"{{"timestamp": {at}, "input_length": 600, "output_length": 4, "hash_ids": [0, {request}]}}"#
        )
        .unwrap();
    }
    fs::write(path, lines).unwrap();
}

fn run(seed: u64) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    write_trace(&trace);
    let machines: [Namespace; SHIFTS.len()] = std::array::from_fn(|_| Namespace::make());
    for machine in &machines {
        // The endpoint has one address, which most of them have no cable to.
        let gateway = machine.gateway().to_string();
        let routed = machine
            .command("ip")
            .args(["route", "add", "default", "via", &gateway])
            .status();
        assert!(routed.unwrap().success());
    }
    let endpoint = endpoint::start(&machines[0].gateway().to_string());
    let mut setting = Setting::new(endpoint::spec(&trace, &endpoint.url()), 3);
    let manager = SocketAddr::from((Ipv4Addr::LOCALHOST, setting.port));
    let mut relays = BTreeMap::new();
    for ((index, machine), shift) in (0..).zip(&machines).zip(SHIFTS) {
        let line = Line {
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(5),
            seed: seed + u64::from(index),
            ..Line::default()
        };
        let relay = Relay::start_at(machine.gateway(), manager, line);
        setting
            .manager_urls
            .insert(index, format!("https://{}", relay.address()));
        relays.insert(index, relay);
        let launcher = launcher(machine, shift);
        check_clocks(&launcher, shift);
        setting.launchers.insert(index, launcher);
    }
    let ended = Fleet::start(setting).wait();
    let log = &ended.log;
    assert!(ended.manager.success(), "{log}");
    assert!(ended.workers.values().all(ExitStatus::success), "{log}");
    assert!(relays.values().all(|relay| relay.connections() > 0), "{log}");
    let summary = ended.summary.unwrap();
    assert_eq!(summary.verdict, Verdict::Succeeded, "{:?}", summary.message);
    let requests: Vec<_> = summary.workers.iter().map(|worker| worker.requests).collect();
    assert_eq!(
        requests,
        [ROUNDS as u64; SHIFTS.len()],
        "each has one of every round"
    );
    let t0: Timestamp = summary.started_at.parse().unwrap();
    let arrivals = endpoint::arrivals(&endpoint);
    assert_eq!(arrivals.len(), ROUNDS * SHIFTS.len(), "{log}");
    let late_ms = |round: usize, arrival_ns: u64| {
        let late_ns = i128::from(arrival_ns) - t0.as_nanosecond() - (round * GAP_MS) as i128 * 1_000_000;
        late_ns as f64 / 1e6
    };
    let rounds = arrivals
        .chunks(SHIFTS.len())
        .enumerate()
        .map(|(round, arrivals)| {
            let times = arrivals.iter().map(|arrival| arrival.arrival_unix_ns);
            times.map(|arrival_ns| late_ms(round, arrival_ns)).collect()
        })
        .collect();
    Run { rounds, summary }
}

#[test]
fn workers_with_wrong_clocks_behind_a_slow_line_start_as_one() {
    if let Some(why) = why_no_namespaces() {
        eprintln!("SKIPPED: no namespaces can be made here, which needs root: {why}");
        return;
    }
    let mut figures = String::new();
    for number in 1..=RUNS {
        let run = run(u64::from(number) * 10);
        write!(figures, "run {number}: {}", run.figures()).unwrap();
        if run.is_accurate() {
            println!("{figures}");
            return;
        }
    }
    panic!(
        "none of {RUNS} runs began within {FROM_T0_MS} ms of T0 and {APART_MS} ms of each other:\n{figures}"
    );
}
