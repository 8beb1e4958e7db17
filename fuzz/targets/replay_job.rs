//! `ReplayJob` documents: one that is taken can be written and is taken again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_crds::document::{Overrides, read};

fuzz_target!(|text: &str| {
    let nothing = Overrides::default();
    match read(text, &nothing) {
        Ok(document) => {
            let written = serde_json::to_string(&document.job).expect("a job is JSON");
            let again = read(&written, &nothing);
            assert_eq!(again.as_ref(), Ok(&document), "written as {written}");
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
});
