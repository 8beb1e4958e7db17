//! `workload_trace`: every recorded body comes back byte for byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_content::Turn;
use reprise_dataset::Format;
use reprise_fuzz::{Record, check_trace, recorded_bytes};

fuzz_target!(|trace: &[u8]| check_trace(Format::WorkloadTrace, trace, check));

fn check(turn: &Turn, record: &Record<'_>) {
    let value = record["body"];
    let as_recorded = if value.starts_with('"') {
        serde_json::from_str(value).expect("a string")
    } else {
        value.to_owned()
    };
    assert_eq!(recorded_bytes(&turn.body), as_recorded.as_bytes());
    assert!(turn.recorded_ns.is_some());
}
