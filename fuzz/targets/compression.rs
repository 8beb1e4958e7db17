//! Compressed traces: what was packed comes back, and any bytes are read or refused.

#![no_main]

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use reprise_source::{Reference, open};
use tempfile::TempDir;

/// A few bytes can stand for any number of them.
const MOST: u64 = 16 << 20;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes);
    if !bytes.is_empty() {
        assert_eq!(read(&gzip(bytes)).expect("gzip is read"), bytes);
        assert_eq!(read(&zstd(bytes)).expect("zstd is read"), bytes);
    }
});

/// The first bytes of the trace that a file with `stored` in it holds.
fn read(stored: &[u8]) -> io::Result<Vec<u8>> {
    let path: PathBuf = FOLDER.path().join("trace");
    fs::write(&path, stored)?;
    let reference = Reference::parse(&path.to_string_lossy()).expect("a path is a reference");
    let mut trace = open(&reference).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    (&mut trace).take(MOST).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < MOST {
        let provenance = trace.finish().map_err(io::Error::other)?;
        assert_eq!(provenance.bytes, stored.len() as u64);
    }
    Ok(bytes)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes all")
}
