mod directory;

use std::path::PathBuf;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;

/// The files of a result, the largest of them in three parts.
pub(super) struct Files {
    _folder: TempDir,
    pub(super) paths: Vec<PathBuf>,
    pub(super) contents: Vec<(&'static str, Vec<u8>)>,
}

pub(super) fn files() -> Files {
    let folder = TempDir::new().unwrap();
    let contents = vec![
        (SUMMARY_FILE, b"{\"verdict\": \"Succeeded\"}".to_vec()),
        ("report.html", b"<p>\n".to_vec()),
        ("empty.yaml", Vec::new()),
        (
            "outcomes.parquet",
            (0_u32..5_000_000).flat_map(u32::to_le_bytes).collect(),
        ),
    ];
    let paths = contents.iter().map(|(name, content)| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    });
    Files {
        paths: paths.collect(),
        contents,
        _folder: folder,
    }
}

pub(super) fn attempt() -> AttemptFolder {
    AttemptFolder::new("chat", "1a2b3c4d-0000-4000-8000-000000000000", 2).unwrap()
}

pub(super) fn silent(_: u64, _: u64) {}

/// Remembers what progress was told.
#[derive(Default)]
pub(super) struct Told(Mutex<Vec<(u64, u64)>>);

impl Told {
    pub(super) fn note(&self, done: u64, total: u64) {
        self.0.lock().unwrap().push((done, total));
    }

    /// Whether it never went back, and all was told in the end.
    pub(super) fn is_whole(&self, bytes: u64) -> bool {
        let told = self.0.lock().unwrap();
        told.is_sorted()
            && told.last() == Some(&(bytes, bytes))
            && told.iter().all(|(_, total)| *total == bytes)
    }
}
