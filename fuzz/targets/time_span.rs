//! Durations: what parses is what the API server would take too, and prints as a text of the same value.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use regex_lite::Regex;
use reprise_crds::TimeSpan;

static PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(TimeSpan::PATTERN).expect("the pattern compiles"));

fuzz_target!(|text: &str| {
    let Ok(span) = text.parse::<TimeSpan>() else {
        return;
    };
    assert!(
        PATTERN.is_match(text),
        "parsed, but not a text that the schema takes"
    );
    let shown = span.to_string();
    assert_eq!(shown.parse(), Ok(span));
    assert!(PATTERN.is_match(&shown));
});
