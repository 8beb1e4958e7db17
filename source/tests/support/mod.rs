//! Places to read traces from: one a source, all behind one trait.

#![allow(unreachable_pub, dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use reprise_source::{Provenance, Reference, SourceError, Trace, open};
pub(crate) use reprise_test_servers::http::{PythonServer, Server, write};
use tempfile::TempDir;

/// A place that files are put into, to be read through a source.
pub(crate) trait Place {
    fn new() -> Self;
    /// The reference of a name, whether something is there or not.
    fn reference(&self, name: &str) -> Reference;
    fn folder(&self) -> PathBuf;

    fn put(&self, name: &str, bytes: &[u8]) -> Reference {
        fs::write(self.folder().join(name), bytes).unwrap();
        self.reference(name)
    }
}

pub(crate) struct LocalFolder(TempDir);

impl Place for LocalFolder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn reference(&self, name: &str) -> Reference {
        parse(self.0.path().join(name).to_str().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Place for PythonServer {
    fn new() -> Self {
        Self::start()
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&self.url(name))
    }

    fn folder(&self) -> PathBuf {
        self.folder()
    }
}

/// Serves files in chunks of odd sizes, without saying how long they are.
pub(crate) struct ChunkedServer {
    folder: TempDir,
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
        Self { folder, server }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&self.server.url(&format!("/{name}")))
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
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

pub(crate) fn parse(text: &str) -> Reference {
    Reference::parse(text).unwrap()
}

/// Reads a trace to its end.
pub(crate) fn read(reference: &Reference) -> Result<(Vec<u8>, Provenance), SourceError> {
    let mut trace = open(reference)?;
    let bytes = drain(&mut trace)?;
    Ok((bytes, trace.finish()?))
}

pub(crate) fn drain(trace: &mut Trace) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    match trace.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.downcast().unwrap()),
    }
}

/// What a person gets to read.
pub(crate) fn refusal(reference: &Reference) -> String {
    read(reference).unwrap_err().to_string()
}
