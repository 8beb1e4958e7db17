//! What tests of the command line share.

use std::process::Output;

use reprise_mock_endpoint::{ArrivalLog, Config, ThreadHandle, start_on_own_thread};

/// A mock endpoint that keeps the digests of the bodies it gets.
pub(crate) fn endpoint() -> ThreadHandle {
    let arrivals = ArrivalLog {
        digests: true,
        ..ArrivalLog::default()
    };
    start_on_own_thread(Config {
        arrivals,
        ..Config::default()
    })
    .unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
