//! References: whatever else a text says, a credential in it is never printed.
//!
//! The input is tried as it is, and, cut at its first NUL byte, as what stands around a credential.

#![no_main]

use std::fmt::{Debug, Display};

use libfuzzer_sys::fuzz_target;
use reprise_source::Reference;

/// Found nowhere but where it was put.
const CREDENTIAL: &str = "Zq7Wv3Kx9T";
const PARAMETERS: [&str; 6] = [
    "X-Amz-Signature",
    "X-Amz-Security-Token",
    "X-Goog-Signature",
    "Signature",
    "sig",
    "token",
];

fuzz_target!(|input: &str| {
    if let Ok(reference) = Reference::parse(input) {
        assert!(!reference.to_string().chars().any(char::is_control));
    }
    if input.contains(&CREDENTIAL[..4]) {
        return;
    }
    let (before, after) = input.split_once('\0').unwrap_or((input, ""));
    for parameter in PARAMETERS {
        check(&format!("{before}?{parameter}={CREDENTIAL}{after}"));
        check(&format!("{before}?a=b&{parameter}={CREDENTIAL}{after}"));
        check(&format!("https://h/{before}?{parameter}={CREDENTIAL}{after}"));
    }
    check(&format!("https://user:{CREDENTIAL}@{before}"));
    check(&format!("HTTP://{CREDENTIAL}@{before}?{after}"));
});

fn check(text: &str) {
    match Reference::parse(text) {
        Ok(reference) => shows_no_credential(&reference, text),
        Err(error) => shows_no_credential(&error, text),
    }
}

fn shows_no_credential(shown: &(impl Display + Debug), text: &str) {
    for shown in [shown.to_string(), format!("{shown:?}")] {
        assert!(!shown.contains(CREDENTIAL), "{text:?} is shown as {shown:?}");
    }
}
