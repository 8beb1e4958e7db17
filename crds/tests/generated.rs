//! The files that are made from the types are as the types are.

use std::fs;
use std::path::Path;

use reprise_crds::generated::{COMMAND, CRD_FILE, REFERENCE_FILE, crd_yaml, reference_markdown};

fn assert_fresh(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "{file} is stale. Write it anew: {COMMAND}");
}

#[test]
fn the_crd_is_fresh() {
    assert_fresh(CRD_FILE, &crd_yaml().unwrap());
}

#[test]
fn the_reference_page_is_fresh() {
    assert_fresh(REFERENCE_FILE, &reference_markdown().unwrap());
}
