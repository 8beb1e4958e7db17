//! The mock endpoint, set up for tests.

use std::str::FromStr as _;

use reprise_mock_endpoint::{
    Arrival, ArrivalLog, Config, Endpoint, Latency, RandomErrors, ThreadHandle, start_on_own_thread,
};
use serde_json::Value;

/// An endpoint that answers at once and keeps the bodies that it gets.
pub(crate) fn start() -> ThreadHandle {
    start_with(Config::default())
}

/// An endpoint whose first token comes after `ttft`, and each further one `gap` later.
pub(crate) fn start_slow(ttft: &str, gap: &str) -> ThreadHandle {
    start_with(Config {
        ttft: Latency::from_str(ttft).unwrap(),
        inter_token_latency: Latency::from_str(gap).unwrap(),
        ..Config::default()
    })
}

/// An endpoint that answers this share of the requests with an error of this status.
pub(crate) fn start_failing(share: &str, status: &str) -> ThreadHandle {
    start_with(Config {
        errors: Some(RandomErrors {
            share: share.parse().unwrap(),
            status: status.parse().unwrap(),
        }),
        ..Config::default()
    })
}

fn start_with(config: Config) -> ThreadHandle {
    start_on_own_thread(Config {
        arrivals: ArrivalLog {
            bodies: true,
            headers: ["authorization", "cookie", "x-tag", "x-order"]
                .map(|name| name.parse().unwrap())
                .to_vec(),
            ..ArrivalLog::default()
        },
        ..config
    })
    .unwrap()
}

/// The bodies that came, as text, in the order of their arrival.
pub(crate) fn texts(endpoint: &Endpoint) -> Vec<String> {
    arrivals(endpoint)
        .into_iter()
        .map(|arrival| String::from_utf8(arrival.body.unwrap().to_vec()).unwrap())
        .collect()
}

/// The bodies that came, as JSON, in the order of their arrival.
pub(crate) fn bodies(endpoint: &Endpoint) -> Vec<Value> {
    texts(endpoint)
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

/// What came, in the order in which it reached the machine.
pub(crate) fn arrivals(endpoint: &Endpoint) -> Vec<Arrival> {
    let mut arrivals = endpoint.arrivals();
    arrivals.sort_by_key(|arrival| arrival.arrival_ns);
    arrivals
}
