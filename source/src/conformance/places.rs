//! Places to read traces from: one a source, all behind one trait.

use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, UNIX_EPOCH};

use reprise_test_servers::http::{PythonServer, Server, write};
use reprise_test_servers::hub::Hub;
use reprise_test_servers::s3::S3Server;
use tempfile::TempDir;
use tokio::runtime::Builder;

use crate::cache::CacheSettings;
use crate::error::SourceError;
use crate::hub::HubSettings;
use crate::library::Library;
use crate::manifest::RunFacts;
use crate::progress::FetchProgress;
use crate::reader::{Reader, Role, Wanted};
use crate::reference::Reference;
use crate::s3::S3Settings;
use crate::trace::{Provenance, Trace};

/// A place that files are put into, to be fetched and read as a run does it.
pub(super) trait Place {
    fn new() -> Self;
    /// The reference of a name, whether something is there or not.
    fn reference(&self, name: &str) -> Reference;
    fn put(&self, name: &str, bytes: &[u8]) -> Reference;
    /// A library with an empty cache, or one that was used before.
    fn library(&self) -> Library;

    fn open(&self, reference: &Reference) -> Result<Trace, SourceError> {
        let library = self.library();
        let wanted = Wanted {
            reference,
            version: None,
            role: Role::Trace(&RunFacts::default()),
        };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let fetched = runtime.block_on(async {
            let pinned = library.pin(&wanted).await?;
            library.fetch(&pinned, &FetchProgress::default()).await
        })?;
        fetched.files()[0].open()
    }

    /// Reads a trace to its end.
    fn read(&self, reference: &Reference) -> Result<(Vec<u8>, Provenance), SourceError> {
        let mut trace = self.open(reference)?;
        let bytes = drain(&mut trace)?;
        Ok((bytes, trace.finish()?))
    }

    /// What a person gets to read.
    fn refusal(&self, reference: &Reference) -> String {
        self.read(reference).unwrap_err().to_string()
    }
}

fn cached_in(folder: &TempDir) -> Library {
    Library::of_environment(S3Settings::default()).with_cache(cache_in(folder))
}

fn cache_in(folder: &TempDir) -> CacheSettings {
    CacheSettings {
        root: folder.path().join("cache"),
        limit: None,
    }
}

fn put_in(folder: &std::path::Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub(super) struct LocalFolder(TempDir);

impl Place for LocalFolder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn reference(&self, name: &str) -> Reference {
        parse(self.0.path().join(name).to_str().unwrap())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        put_in(self.0.path(), name, bytes);
        self.reference(name)
    }

    fn library(&self) -> Library {
        cached_in(&self.0)
    }
}

/// `python3 -m http.server`
pub(super) struct WebServer {
    server: PythonServer,
    cache: TempDir,
    /// Its versions are times to the second, and tests are faster.
    changes: Cell<u64>,
}

impl Place for WebServer {
    fn new() -> Self {
        Self {
            server: PythonServer::start(),
            cache: TempDir::new().unwrap(),
            changes: Cell::new(1),
        }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&self.server.url(name))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        put_in(&self.server.folder(), name, bytes);
        let changed = UNIX_EPOCH + Duration::from_secs(self.changes.get());
        self.changes.set(self.changes.get() + 1);
        let file = fs::File::options()
            .append(true)
            .open(self.server.folder().join(name));
        file.unwrap().set_modified(changed).unwrap();
        self.reference(name)
    }

    fn library(&self) -> Library {
        cached_in(&self.cache)
    }
}

/// A repository on a hub.
pub(super) struct HubRepository {
    hub: Hub,
    cache: TempDir,
}

impl Place for HubRepository {
    fn new() -> Self {
        Self {
            hub: Hub::start(),
            cache: TempDir::new().unwrap(),
        }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&format!("hf://acme/traces/{name}"))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        self.hub.dataset("acme/traces").commit([(name, bytes)]);
        self.reference(name)
    }

    fn library(&self) -> Library {
        let home = self.cache.path().to_str().unwrap().to_owned();
        let endpoint = self.hub.endpoint().to_owned();
        let settings = HubSettings::of(|name| match name {
            "HF_HOME" => Some(home.clone()),
            "HF_ENDPOINT" => Some(endpoint.clone()),
            _ => None,
        });
        let reader = Reader::of_environment(S3Settings::default()).with_hub(settings.unwrap());
        Library::online(reader).with_cache(cache_in(&self.cache))
    }
}

/// A bucket that everyone may read.
pub(super) struct S3Bucket {
    store: S3Server,
    cache: TempDir,
}

impl Place for S3Bucket {
    fn new() -> Self {
        let store = S3Server::start();
        store.make_bucket("traces");
        store.make_public("traces");
        Self {
            store,
            cache: TempDir::new().unwrap(),
        }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&format!("s3://traces/{name}"))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        self.store.put("traces", name, bytes);
        self.reference(name)
    }

    fn library(&self) -> Library {
        let settings = S3Settings::new(Some(&self.store.endpoint()), Some("us-east-1"), None);
        Library::online(Reader::of_environment(settings.unwrap())).with_cache(cache_in(&self.cache))
    }
}

/// Serves files in chunks of odd sizes, without saying how long they are.
pub(super) struct ChunkedServer {
    folder: TempDir,
    cache: TempDir,
    server: Server,
}

impl Place for ChunkedServer {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_owned();
        let server = Server::start(move |request, stream| {
            let file = path.join(request.target.trim_start_matches('/'));
            if file.is_dir() {
                return write(stream, &folder_answer(&request.target));
            }
            let Ok(bytes) = fs::read(file) else {
                return write(stream, "HTTP/1.1 404 -\r\ncontent-length: 0\r\n\r\n");
            };
            write(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            let mut rest = &bytes[..];
            for size in [1, 2, 3, 1000, 77_777]
                .into_iter()
                .chain(std::iter::repeat(1 << 20))
            {
                let (chunk, later) = rest.split_at(rest.len().min(size));
                let _ = write!(stream, "{:x}\r\n", chunk.len());
                let _ = stream.write_all(chunk);
                let _ = stream.write_all(b"\r\n");
                if chunk.is_empty() {
                    break;
                }
                rest = later;
            }
        });
        Self {
            folder,
            cache: TempDir::new().unwrap(),
            server,
        }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&self.server.url(&format!("/{name}")))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        put_in(self.folder.path(), name, bytes);
        self.reference(name)
    }

    fn library(&self) -> Library {
        cached_in(&self.cache)
    }
}

/// As file servers do: a redirect to the same with a slash, and there a list of files.
fn folder_answer(target: &str) -> String {
    if target.ends_with('/') {
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n<a>..</a>".to_owned()
    } else {
        format!("HTTP/1.1 301 -\r\nlocation: {target}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    }
}

fn parse(text: &str) -> Reference {
    Reference::parse(text).unwrap()
}

pub(super) fn drain(trace: &mut Trace) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    match trace.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.downcast().unwrap()),
    }
}
