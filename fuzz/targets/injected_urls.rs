//! Injected URLs: one that was redacted is found again byte for byte, and none is ever printed.
//!
//! The input is tried as the list, and its two halves (around a NUL byte) as what stands around a credential in a URL.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_source::{InjectedUrls, Reference};

/// Found nowhere but where it was put.
const CREDENTIAL: &str = "Zq7Wv3Kx9T";
const PARAMETERS: [&str; 4] = ["X-Amz-Signature", "Signature", "sig", "token"];

fuzz_target!(|input: &str| {
    if input.contains(&CREDENTIAL[..4]) {
        return;
    }
    let (before, after) = input.split_once('\0').unwrap_or((input, ""));
    if let Err(error) = InjectedUrls::parse(input) {
        assert!(!error.to_string().contains(char::is_control));
    }
    for parameter in PARAMETERS {
        check(&format!("https://{before}?{parameter}={CREDENTIAL}{after}"));
        check(&format!(
            "https://h.test/{before}&{parameter}={CREDENTIAL}{after}"
        ));
    }
});

fn check(url: &str) {
    let Ok(list) = serde_json::to_string(&[url]) else {
        return;
    };
    let now = "2000-01-01T00:00:00Z".parse().expect("a time");
    let urls = match InjectedUrls::parse(&list) {
        Ok(urls) => urls,
        Err(error) => return shows_no_credential(&format!("{error} {error:?}"), url),
    };
    shows_no_credential(&format!("{urls:?}"), url);
    let whole = Reference::parse(url).expect("an injected URL is a reference");
    let text = whole.to_string();
    shows_no_credential(&text, url);
    let redacted = Reference::parse(&text).expect("what is printed can be parsed");
    assert!(redacted.is_redacted(), "{url:?} is shown as {text:?}");
    match urls.resolve(&redacted, now) {
        Ok(found) => assert_eq!(found, whole, "{url:?}"),
        // Only a URL that expired in the last millennium is refused.
        Err(error) => {
            assert!(
                whole.expiry().is_some_and(|expiry| expiry <= now),
                "{url:?}: {error}"
            );
            shows_no_credential(&format!("{error} {error:?}"), url);
        }
    }
}

fn shows_no_credential(shown: &str, url: &str) {
    assert!(!shown.contains(CREDENTIAL), "{url:?} is shown as {shown:?}");
}
