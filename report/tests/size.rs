//! A summary fits into a ConfigMap.

#[path = "../examples/sample-report/synthetic.rs"]
mod synthetic;

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reprise_report::{OutcomeWriter, analyse, files};

/// What the summary of a run may take, compressed, beside the other things in an object of the API server.
const MOST_BYTES: usize = 32 * 1024;
const REQUESTS: u32 = 12_000;

#[test]
fn the_summary_of_an_hour_is_small() {
    let folder = tempfile::tempdir().unwrap();
    let run = synthetic::run(REQUESTS, Duration::from_secs(3_600));
    let mut writer = OutcomeWriter::create(&folder.path().join("outcomes.parquet")).unwrap();
    writer.append(&run.outcomes).unwrap();
    let outcomes = writer.finish().unwrap();
    let summary = analyse(synthetic::input(REQUESTS), &outcomes, &run.gaps).unwrap();
    let paths = files::write_all(folder.path(), &summary).unwrap();

    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed
        .write_all(&std::fs::read(paths.summary).unwrap())
        .unwrap();
    let bytes = compressed.finish().unwrap().len();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}
