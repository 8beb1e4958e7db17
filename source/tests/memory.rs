//! However large a trace is, little of it is held. Alone in its binary, since the peak is that of the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use reprise_source::{FetchProgress, Library, Reference, Role, RunFacts, S3Settings, Trace, Wanted};

const TRACE: u64 = 192 * 1024 * 1024;
const LIMIT: u64 = 64 * 1024 * 1024;

/// The most memory that this process ever held, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A large file that takes no room on the disk, and the same compressed.
fn fill(folder: &Path) -> [PathBuf; 3] {
    let paths = ["plain", "gzip", "zstd"].map(|name| folder.join(name));
    File::create(&paths[0]).unwrap().set_len(TRACE).unwrap();
    let zeros = vec![0; 1024 * 1024];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..TRACE / zeros.len() as u64 {
        gzip.write_all(&zeros).unwrap();
        zstd.write_all(&zeros).unwrap();
    }
    fs::write(&paths[1], gzip.finish().unwrap()).unwrap();
    fs::write(&paths[2], zstd.finish().unwrap()).unwrap();
    paths
}

fn open(path: &Path) -> Trace {
    let (reference, run) = (Reference::of_path(path), RunFacts::default());
    let wanted = Wanted {
        reference: &reference,
        version: None,
        role: Role::Trace(&run),
    };
    let library = Library::of_environment(S3Settings::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let fetched = runtime.block_on(async {
        let pinned = library.pin(&wanted).await.unwrap();
        library.fetch(&pinned, &FetchProgress::default()).await.unwrap()
    });
    fetched.files()[0].open().unwrap()
}

#[test]
fn a_large_trace_is_streamed() {
    let folder = tempfile::tempdir().unwrap();
    for path in fill(folder.path()) {
        let mut trace = open(&path);
        assert_eq!(io::copy(&mut trace, &mut io::sink()).unwrap(), TRACE);
        trace.finish().unwrap();
    }
    assert!(peak() < LIMIT, "{} MiB", peak() / 1024 / 1024);
}
