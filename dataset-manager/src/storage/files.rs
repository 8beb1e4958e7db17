//! The files of a result on this machine, and their digests.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use reprise_contract::digest::Digest;
use sha2::{Digest as _, Sha256};

use super::{SUMMARY_FILE, StoredFile};

/// Bytes of a part, at least: what S3 takes without complaint, and what memory bears several of.
const SMALLEST_PART: u64 = 8 << 20;
/// Parts of an object, at most, by the rules of S3.
const MOST_PARTS: u64 = 10_000;

/// Why the files of a result cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// It is gone, or may not be read.
    #[error("{} cannot be read ({source}). Check the file and its disk.", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It has no name, one that is no text, or that of another one.
    #[error("{} has no name of its own that is text. Give each file one.", .0.display())]
    Name(PathBuf),
    /// Somebody else wrote to it.
    #[error(
        "{} changed while it was being stored. See to it that nothing else writes there, and try again.", .0.display()
    )]
    Changed(PathBuf),
}

/// The files of a result, the summary last.
#[derive(Debug)]
pub(super) struct ResultFiles(Vec<ResultFile>);

/// A file of a result, as it was when it was examined.
#[derive(Clone, Debug)]
pub(super) struct ResultFile {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
    /// The whole in order, without a gap; one empty part where it is empty.
    pub(super) parts: Vec<Part>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) bytes: usize,
    pub(super) sha256: Digest,
}

impl ResultFiles {
    pub(super) async fn examine(paths: &[PathBuf]) -> Result<Self, FileProblem> {
        let mut names = BTreeSet::new();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.filter(|name| names.insert(name.to_owned()));
            let name = name.ok_or_else(|| FileProblem::Name(path.clone()))?;
            files.push(ResultFile::examine(path, name).await?);
        }
        files.sort_by_key(|file| file.name == SUMMARY_FILE);
        Ok(Self(files))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ResultFile> {
        self.0.iter()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|file| file.bytes).sum()
    }
}

impl ResultFile {
    async fn examine(path: &Path, name: &str) -> Result<Self, FileProblem> {
        let (path, name) = (path.to_owned(), name.to_owned());
        blocking(move || {
            let examined = examine(&path, name);
            examined.map_err(|source| FileProblem::Unreadable { path, source })
        })
        .await
    }

    pub(super) fn stored(&self) -> StoredFile {
        StoredFile {
            name: self.name.clone(),
            bytes: self.bytes,
            sha256: self.sha256,
        }
    }

    /// The content of a part.
    ///
    /// # Errors
    /// When it cannot be read, or is not what it was.
    pub(super) async fn read(&self, part: Part) -> Result<Bytes, FileProblem> {
        let path = self.path.clone();
        blocking(move || {
            let mut content = vec![0; part.bytes];
            let read = File::open(&path).and_then(|file| file.read_exact_at(&mut content, part.start));
            match read {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(FileProblem::Changed(path)),
                Err(source) => Err(FileProblem::Unreadable { path, source }),
                Ok(()) if digest(&content) != part.sha256 => Err(FileProblem::Changed(path)),
                Ok(()) => Ok(content.into()),
            }
        })
        .await
    }
}

fn examine(path: &Path, name: String) -> io::Result<ResultFile> {
    let mut file = File::open(path)?;
    let part_bytes = part_bytes(file.metadata()?.len());
    let mut whole = Sha256::new();
    let mut bytes = 0;
    let mut parts = Vec::new();
    loop {
        let mut content = Vec::new();
        let read = Read::by_ref(&mut file)
            .take(part_bytes)
            .read_to_end(&mut content)?;
        if read == 0 && !parts.is_empty() {
            break;
        }
        whole.update(&content);
        parts.push(Part {
            start: bytes,
            bytes: read,
            sha256: digest(&content),
        });
        bytes += u64::try_from(read).map_err(io::Error::other)?;
        if read == 0 {
            break;
        }
    }
    Ok(ResultFile {
        path: path.to_owned(),
        name,
        bytes,
        sha256: Digest::from_bytes(whole.finalize().into()),
        parts,
    })
}

/// Whole MiB, so that no file has too many parts.
fn part_bytes(file_bytes: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    let needed = file_bytes.div_ceil(MOST_PARTS).div_ceil(MIB) * MIB;
    needed.max(SMALLEST_PART)
}

pub(super) fn digest(content: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(content).into())
}

/// Does what waits for a disk where it holds up nobody.
pub(super) async fn blocking<T, F>(work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // Nobody aborts these tasks: it panicked, and that goes on here.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_has_too_many_parts() {
        for bytes in [0, 1, SMALLEST_PART, SMALLEST_PART * MOST_PARTS] {
            assert_eq!(part_bytes(bytes), SMALLEST_PART);
        }
        for bytes in [SMALLEST_PART * MOST_PARTS + 1, 1 << 40, 5 << 40] {
            let part = part_bytes(bytes);
            assert!(
                part > SMALLEST_PART && bytes.div_ceil(part) <= MOST_PARTS,
                "{bytes}"
            );
        }
    }

    #[tokio::test]
    async fn parts_make_up_the_file_and_a_change_is_noticed() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("outcomes.parquet");
        let content: Vec<u8> = (0_u32..5_000_000).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &content).unwrap();
        let files = ResultFiles::examine(std::slice::from_ref(&path)).await.unwrap();
        let file = files.iter().next().unwrap();
        assert_eq!(file.sha256, digest(&content));
        assert_eq!(file.parts.len(), 3);
        let mut read = Vec::new();
        for part in &file.parts {
            read.extend(file.read(*part).await.unwrap());
        }
        assert!(read == content);
        std::fs::write(&path, &content[..content.len() - 1]).unwrap();
        assert!(file.read(file.parts[0]).await.is_ok());
        assert!(matches!(
            file.read(file.parts[2]).await,
            Err(FileProblem::Changed(_))
        ));
    }

    #[tokio::test]
    async fn the_summary_goes_last_and_names_are_unique() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [SUMMARY_FILE, "report.html", "empty"] {
            std::fs::write(path(name), if name == "empty" { "" } else { name }).unwrap();
        }
        let files = [path(SUMMARY_FILE), path("report.html"), path("empty")];
        let files = ResultFiles::examine(&files).await.unwrap();
        let names: Vec<_> = files
            .iter()
            .map(|file| (file.name.as_str(), file.parts.len()))
            .collect();
        assert_eq!(names, [("report.html", 1), ("empty", 1), (SUMMARY_FILE, 1)]);
        assert_eq!(files.bytes(), 23);
        let twice = ResultFiles::examine(&[path("empty"), path("empty")]).await;
        assert!(matches!(twice, Err(FileProblem::Name(_))));
        let missing = ResultFiles::examine(&[path("missing")]).await;
        assert!(matches!(missing, Err(FileProblem::Unreadable { .. })));
    }
}
