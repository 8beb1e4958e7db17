//! However large a trace is, little of it is held. Alone in its binary, since the peak is that of the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, File};
use std::io::{self, Write};

use reprise_source::{Reference, open};
use support::{LocalFolder, Place, PythonServer};

const TRACE: u64 = 192 * 1024 * 1024;
const LIMIT: u64 = 64 * 1024 * 1024;

/// The most memory that this process ever held, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A large file that takes no room on the disk, and the same compressed.
fn fill(place: &impl Place) -> [Reference; 3] {
    File::create(place.folder().join("plain"))
        .unwrap()
        .set_len(TRACE)
        .unwrap();
    let zeros = vec![0; 1024 * 1024];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..TRACE / zeros.len() as u64 {
        gzip.write_all(&zeros).unwrap();
        zstd.write_all(&zeros).unwrap();
    }
    [
        place.reference("plain"),
        place.put("gzip", &gzip.finish().unwrap()),
        place.put("zstd", &zstd.finish().unwrap()),
    ]
}

#[test]
fn a_large_trace_is_streamed() {
    let (local, http) = (LocalFolder::new(), PythonServer::new());
    for reference in fill(&local).into_iter().chain(fill(&http)) {
        let mut trace = open(&reference).unwrap();
        assert_eq!(io::copy(&mut trace, &mut io::sink()).unwrap(), TRACE);
        trace.finish().unwrap();
    }
    assert!(peak() < LIMIT, "{} MiB", peak() / 1024 / 1024);
}
