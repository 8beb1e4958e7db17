use proptest::prelude::*;

use super::*;

fn nanoseconds(text: &str) -> Result<u128, TimeSpanError> {
    text.parse::<TimeSpan>().map(|span| span.get().as_nanos())
}

#[test]
fn every_unit_and_sums_of_parts_are_read_exactly() {
    for (text, expected) in [
        ("0s", 0),
        ("7ns", 7),
        ("7us", 7_000),
        ("7µs", 7_000),
        ("7\u{3bc}s", 7_000),
        ("500ms", 500_000_000),
        ("1.5s", 1_500_000_000),
        ("0.000000001s", 1),
        ("1h30m", 5_400_000_000_000),
        ("1m1m", 120_000_000_000),
        ("1.10m", 66_000_000_000),
        ("0.1000000000000000000000000000000000000000000s", 100_000_000),
        ("18446744073709551615ns", u128::from(u64::MAX)),
    ] {
        assert_eq!(nanoseconds(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_number_without_a_unit_is_refused_and_told_what_to_write() {
    for text in ["0", "30", "1.5"] {
        assert_eq!(nanoseconds(text), Err(TimeSpanError::NoUnit(text.to_owned())));
    }
    let error = serde_json::from_str::<TimeSpan>("30").unwrap_err().to_string();
    assert!(error.contains("has no unit: write 30s or 30ms"), "{error}");
    let error = serde_json::from_str::<TimeSpan>("\"30\"")
        .unwrap_err()
        .to_string();
    assert!(error.contains("has no unit: write 30s or 30ms"), "{error}");
}

#[test]
fn what_is_no_duration_is_refused_with_its_reason() {
    for (text, expected) in [
        ("", TimeSpanError::Empty),
        ("-1s", TimeSpanError::Negative),
        ("1e3", TimeSpanError::UnknownUnit("e".to_owned())),
        ("3d", TimeSpanError::UnknownUnit("d".to_owned())),
        ("1h30", TimeSpanError::Malformed),
        ("s", TimeSpanError::Malformed),
        (".5s", TimeSpanError::Malformed),
        ("1.s", TimeSpanError::Malformed),
        ("1 s", TimeSpanError::Malformed),
        ("soon", TimeSpanError::Malformed),
        ("0.5ns", TimeSpanError::TooFine),
        (
            "0.00000000000000000000000000000000000000000000001h",
            TimeSpanError::TooFine,
        ),
        ("18446744073709551616ns", TimeSpanError::TooLong),
        ("6000000h", TimeSpanError::TooLong),
        ("18446744073709551615ns1ns", TimeSpanError::TooLong),
    ] {
        assert_eq!(nanoseconds(text), Err(expected), "{text}");
    }
}

#[test]
fn the_shortest_text_that_reads_well_is_written() {
    for (text, expected) in [
        ("0ms", "0s"),
        ("90m", "1h30m"),
        ("500ms", "500ms"),
        ("1500ms", "1.5s"),
        ("1500us", "1.5ms"),
        ("1h0m0s", "1h"),
        ("3600.05s", "1h0.05s"),
        ("999ns", "999ns"),
    ] {
        assert_eq!(text.parse::<TimeSpan>().unwrap().to_string(), expected);
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(nanoseconds: u64) {
        let span = TimeSpan::from(Duration::from_nanos(nanoseconds));
        prop_assert_eq!(span.to_string().parse::<TimeSpan>(), Ok(span));
        let json = serde_json::to_string(&span).unwrap();
        prop_assert_eq!(serde_json::from_str::<TimeSpan>(&json).unwrap(), span);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}|[0-9.numsh]{0,24}") {
        let _ = text.parse::<TimeSpan>().map(|span| span.to_string());
    }
}
