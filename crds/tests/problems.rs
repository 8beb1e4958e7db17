//! What people are told about documents that are wrong: one golden file for each of `tests/documents`.

use std::fs;
use std::path::Path;

use reprise_crds::document::{Overrides, read};

#[test]
fn every_problem_is_named_with_its_field_and_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let problems = read(&text, &Overrides::default())
            .unwrap_err()
            .in_file("job.yaml");
        insta::assert_snapshot!(name.trim_end_matches(".yaml"), problems);
    }
}
