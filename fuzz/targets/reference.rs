//! References: whatever else a text says, a credential in it is never printed.
//!
//! What is printed of a reference can be parsed again, and names the same. The input is tried as it is, and, cut at its first NUL byte, as what stands around a credential.

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
    for text in [input, &format!("hf://{input}"), &format!("s3://{input}")] {
        check_form(text);
    }
    if input.contains(&CREDENTIAL[..4]) {
        return;
    }
    let (before, after) = input.split_once('\0').unwrap_or((input, ""));
    for parameter in PARAMETERS {
        check(&format!("{before}?{parameter}={CREDENTIAL}{after}"));
        check(&format!("{before}?a=b&{parameter}={CREDENTIAL}{after}"));
        check(&format!("https://h/{before}?{parameter}={CREDENTIAL}{after}"));
        check(&format!("hf://o/r/{before}?{parameter}={CREDENTIAL}{after}"));
        check(&format!("s3://bucket/{before}?{parameter}={CREDENTIAL}{after}"));
    }
    check(&format!("https://user:{CREDENTIAL}@{before}"));
    check(&format!("HTTP://{CREDENTIAL}@{before}?{after}"));
});

/// Holds whether or not there is a credential: one line, which stands for the same place.
fn check_form(text: &str) {
    match Reference::parse(text) {
        Ok(reference) => {
            let shown = reference.to_string();
            assert!(!shown.contains(char::is_control));
            let again = Reference::parse(&shown);
            if shown == text {
                assert_eq!(again.as_ref(), Ok(&reference), "{text:?}");
            }
            if reference.local_path().is_none() {
                let again = again.unwrap_or_else(|error| panic!("{text:?} is shown as {shown:?}: {error}"));
                assert!(
                    again == reference || again.is_redacted(),
                    "{text:?} is shown as {shown:?}"
                );
            }
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{text:?}: {error}"),
    }
}

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
