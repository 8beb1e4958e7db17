//! Generated files are up to date.

#[test]
fn summary_schema_is_up_to_date() {
    let committed = include_str!("../generated/summary.schema.json");
    let current = format!("{:#}\n", reprise_contract::summary::json_schema());
    assert_eq!(
        committed, current,
        "stale: run `cargo run -p reprise-contract --example write-schema` and commit the result"
    );
}
