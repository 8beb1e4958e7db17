//! `--set` arguments, one a line: they are read, and applied to a job that is right and to none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_crds::document::{Document, Overrides, read};

const JOB: &str = "\
apiVersion: reprise.dev/v1alpha1
kind: ReplayJob
metadata: {name: fuzz}
spec:
  dataset: {source: trace.jsonl, format: mooncake_trace}
  target: {urls: ['http://127.0.0.1:8000'], model: m}
";

fuzz_target!(|text: &str| {
    // Each problem stands in one short message, so many of the same arguments show nothing new.
    match Overrides::parse(text.lines().take(8)) {
        Ok(overrides) => {
            for result in [read(JOB, &overrides), Document::blank(&overrides)] {
                if let Err(problems) = result {
                    assert!(!problems.to_string().is_empty());
                }
            }
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
});
