//! `summary.json` keeps its promises: it follows its schema, and fits into a `ConfigMap`.

#[path = "../examples/sample-report/synthetic.rs"]
mod synthetic;

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reprise_report::{OutcomeWriter, analyse, files};

/// What the summary of a run may take, compressed, beside the other things in an object of the API server.
const MOST_BYTES: usize = 32 * 1024;
const REQUESTS: u32 = 12_000;

/// The `summary.json` of a made-up hour.
fn summary_json() -> Result<Vec<u8>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let run = synthetic::run(REQUESTS, Duration::from_hours(1));
    let mut writer = OutcomeWriter::create(&folder.path().join("outcomes.parquet"))?;
    writer.append(&run.outcomes)?;
    let summary = analyse(synthetic::input(REQUESTS), &writer.finish()?, &run.gaps)?;
    Ok(std::fs::read(files::write_all(folder.path(), &summary)?.summary)?)
}

#[test]
fn an_hour_is_small() {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(&summary_json().unwrap()).unwrap();
    let bytes = compressed.finish().unwrap().len();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}

#[test]
fn it_follows_its_schema() {
    let summary: serde_json::Value = serde_json::from_slice(&summary_json().unwrap()).unwrap();
    let schema = jsonschema::validator_for(&reprise_contract::summary::json_schema()).unwrap();
    let errors: Vec<_> = schema
        .iter_errors(&summary)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
