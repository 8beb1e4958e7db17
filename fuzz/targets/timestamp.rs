//! Times: every nanosecond of a trace's clock can be written in every unit and is read back exactly, and any text is read or
//! refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_dataset::{Format, Options, TimestampUnit};
use reprise_fuzz::turns;

/// Each unit with the power of ten of nanoseconds that it is.
const UNITS: [(TimestampUnit, u32); 4] = [
    (TimestampUnit::Seconds, 9),
    (TimestampUnit::Milliseconds, 6),
    (TimestampUnit::Microseconds, 3),
    (TimestampUnit::Nanoseconds, 0),
];

fuzz_target!(|input: &[u8]| {
    for (unit, power) in UNITS {
        if let Some(bytes) = input.first_chunk() {
            check_round_trip(i64::from_le_bytes(*bytes), unit, power);
        }
        if let Ok(text) = std::str::from_utf8(input) {
            let quoted = serde_json::Value::from(text).to_string();
            for ns in [read(text, unit), read(&quoted, unit)].into_iter().flatten() {
                check_round_trip(ns, unit, power);
            }
        }
    }
});

fn check_round_trip(ns: i64, unit: TimestampUnit, power: u32) {
    let text = decimal(ns, power);
    assert_eq!(read(&text, unit), Some(ns), "{text} {unit}");
    assert_eq!(read(&format!("\"{text}\""), unit), Some(ns), "\"{text}\" {unit}");
    let text = format!("{ns}e-{power}");
    assert_eq!(read(&text, unit), Some(ns), "{text} {unit}");
}

/// `ns` divided by ten to the `power`, with all its digits.
fn decimal(ns: i64, power: u32) -> String {
    let scale = 10_u64.pow(power);
    let (whole, rest) = (ns.unsigned_abs() / scale, ns.unsigned_abs() % scale);
    let sign = if ns < 0 { "-" } else { "" };
    match power as usize {
        0 => format!("{sign}{whole}"),
        digits => format!("{sign}{whole}.{rest:0digits$}"),
    }
}

/// The time of a record that says `value`, if it is one.
fn read(value: &str, unit: TimestampUnit) -> Option<i64> {
    let options = Options {
        timestamp_unit: Some(unit),
        ..Options::default()
    };
    let trace = format!("{{\"body\":{{}},\"timestamp\":{value}}}");
    let (turns, _) = turns(Format::WorkloadTrace, trace.as_bytes(), &options).ok()?;
    turns.first()?.recorded_ns
}
