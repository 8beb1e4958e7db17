//! The endpoint that a fleet sends to, and the trace that it sends.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::str::FromStr as _;

use reprise_mock_endpoint::{Arrival, ArrivalLog, Config, Latency, ThreadHandle, start_on_own_thread};
use serde_json::{Value, json};

/// An endpoint on `address` that answers after some milliseconds and keeps the digests of what it gets.
pub(crate) fn start(address: &str) -> ThreadHandle {
    start_on_own_thread(Config {
        listen: format!("{address}:0").parse().unwrap(),
        ttft: Latency::from_str("20ms").unwrap(),
        inter_token_latency: Latency::from_str("2ms").unwrap(),
        arrivals: ArrivalLog {
            digests: true,
            ..ArrivalLog::default()
        },
        ..Config::default()
    })
    .unwrap()
}

/// What came, in the order in which it reached the machine.
pub(crate) fn arrivals(endpoint: &ThreadHandle) -> Vec<Arrival> {
    let mut arrivals = endpoint.arrivals();
    arrivals.sort_by_key(|arrival| arrival.arrival_ns);
    arrivals
}

/// The digests of all bodies that came, sorted.
pub(crate) fn digests(endpoint: &ThreadHandle) -> Vec<String> {
    let mut digests: Vec<_> = endpoint
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.body_sha256.unwrap())
        .collect();
    digests.sort();
    digests
}

/// Writes a trace of `requests` requests, one every `gap_ms` milliseconds, every fifth of which comes with two others.
pub(crate) fn write_trace(path: &Path, requests: u32, gap_ms: u32) {
    let mut lines = String::new();
    for request in 0..requests {
        let place = request % 5;
        let at = if matches!(place, 1 | 2) {
            request - place
        } else {
            request
        };
        writeln!(
            lines,
            r#"{{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [{}, {}]}}"#,
            at * gap_ms,
            600 + request % 300,
            4 + request % 9,
            request / 7,
            1_000_000 + request
        )
        .unwrap();
    }
    fs::write(path, lines).unwrap();
}

/// A spec that replays `trace` against `url`.
pub(crate) fn spec(trace: &Path, url: &str) -> Value {
    json!({
        "dataset": {"source": trace, "format": "mooncake_trace"},
        "target": {"urls": [url], "model": "mock", "timeout": "10s"},
        "replay": {"seed": 7},
        "results": {"hold": "0s"},
    })
}
