//! Writes `contract/generated/summary.schema.json`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated/summary.schema.json");
    let schema = format!("{:#}\n", reprise_contract::summary::json_schema());
    std::fs::write(path, schema)
}
