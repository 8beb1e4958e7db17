//! Downloads from servers good and bad into a store on the disk.

mod breaks;
mod refusals;
mod stores;
mod waiting;

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprise_test_servers::http::{Request, Server, write};
use tempfile::TempDir;

use super::*;
use crate::Reference;
use crate::digest::Hasher;
use crate::guard::Access;
use crate::http::HttpSource;
use crate::progress::FetchProgress;
use crate::reference::Place;
use crate::remote::Shape;

/// As simple as a store can be.
struct FolderStore(PathBuf);

impl FolderStore {
    fn path(&self, file: &RemoteFile) -> PathBuf {
        self.0.join(&file.name)
    }

    fn partial(&self, file: &RemoteFile) -> PathBuf {
        self.0.join(format!("{}.partial", file.name))
    }
}

impl Store for FolderStore {
    fn find(&self, _: &Found, file: &RemoteFile) -> Result<Option<Kept>, Problem> {
        let path = self.path(file);
        Ok(fs::metadata(&path).ok().map(|metadata| Kept {
            path,
            bytes: metadata.len(),
            sha256: None,
            in_use: None,
        }))
    }

    fn claim(&self, _: &Found, file: &RemoteFile) -> Result<Option<Claim>, Problem> {
        let lock = File::create(self.0.join(format!("{}.lock", file.name))).unwrap();
        match lock.try_lock() {
            Ok(()) => Ok(Some(Claim {
                partial: self.partial(file),
                lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(error) => panic!("{error}"),
        }
    }

    fn publish(&self, _: &Found, file: &RemoteFile, claim: Claim, sha256: Digest) -> Result<Kept, Problem> {
        let path = self.path(file);
        fs::rename(&claim.partial, &path).unwrap();
        Ok(Kept {
            bytes: fs::metadata(&path).unwrap().len(),
            path,
            sha256: Some(sha256),
            in_use: None,
        })
    }
}

/// A file that was found at a URL, and a store for it.
struct Case {
    folder: Arc<TempDir>,
    source: HttpSource,
    found: Found,
    file: RemoteFile,
    progress: FetchProgress,
}

impl Case {
    async fn new(url: &str) -> Self {
        let reference = Reference::parse(url).unwrap();
        let Place::Http(url) = reference.place() else {
            panic!("{url} is not HTTP")
        };
        let source = HttpSource::new(url.clone(), &Access::Ambient, None).unwrap();
        let found = source.look_up().await.unwrap();
        let Shape::File(file) = found.shape.clone() else {
            panic!("a URL is no folder")
        };
        Self {
            folder: Arc::new(TempDir::new().unwrap()),
            source,
            found,
            file,
            progress: FetchProgress::default(),
        }
    }

    fn store(&self) -> FolderStore {
        FolderStore(self.folder.path().to_owned())
    }

    fn partial(&self) -> PathBuf {
        self.store().partial(&self.file)
    }

    fn download(&self) -> Download<'_, HttpSource> {
        Download {
            retry: Retry {
                attempts: 3,
                first_pause: Duration::from_millis(1),
                longest_pause: Duration::from_secs(1),
            },
            ..Download::new(&self.source, Arc::new(self.store()), &self.found)
        }
    }

    async fn fetch(&self, declared: Option<Digest>) -> Result<Kept, Problem> {
        let progress = self.progress.expect(self.file.size);
        self.download().file(&self.file, declared, progress).await
    }

    async fn fetched(&self) -> Vec<u8> {
        fs::read(self.fetch(None).await.unwrap().path).unwrap()
    }
}

fn sample(length: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|n| format!("{{\"timestamp\": {n}}}\n").into_bytes())
        .take(length)
        .collect()
}

fn sha256(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.digest()
}

const TAG: &str = "etag: \"v1\"\r\n";

/// The rest of a file from where a request asks for it, of which only `sent` bytes come before the connection ends.
fn serve_rest(stream: &mut TcpStream, request: &Request, bytes: &[u8], headers: &str, sent: usize) {
    let total = bytes.len();
    let (status, from, end) = match request.range() {
        Some((from, to)) => {
            let end = to.map_or(total, |to| total.min(to + 1));
            let range = format!("206 -\r\ncontent-range: bytes {from}-{}/{total}", end - 1);
            (range, from, end)
        }
        None => ("200 -".to_owned(), 0, total),
    };
    write(
        stream,
        &format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n",
            end - from
        ),
    );
    let _ = stream.write_all(&bytes[from..end.min(from + sent)]);
}

/// Where the requests after the access check wanted to begin.
fn starts(server: &Server) -> Vec<usize> {
    let requests = server.requests();
    requests[1..]
        .iter()
        .map(|request| request.range().map_or(0, |(from, _)| from))
        .collect()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().all(|entry| {
        entry
            .unwrap()
            .path()
            .extension()
            .is_some_and(|kind| kind == "lock")
    })
}
