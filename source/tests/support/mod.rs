//! Places to read traces from: one a source, all behind one trait, and a server that misbehaves to order.

#![allow(unreachable_pub, dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use reprise_source::{Provenance, Reference, SourceError, Trace, open};
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

/// `python3 -m http.server`, on a port that it picks.
pub(crate) struct PythonServer {
    folder: TempDir,
    process: Child,
    base: String,
}

impl Place for PythonServer {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut process = Command::new("python3")
            .args([
                "-u",
                "-m",
                "http.server",
                "0",
                "--bind",
                "127.0.0.1",
                "--directory",
            ])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut greeting)
            .unwrap();
        // Serving HTTP on 127.0.0.1 port 43211 (http://127.0.0.1:43211/) ...
        let base = greeting.split(['(', ')']).nth(1).unwrap().to_owned();
        Self {
            folder,
            process,
            base,
        }
    }

    fn reference(&self, name: &str) -> Reference {
        parse(&format!("{}{name}", self.base))
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
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

/// The head of a request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) head: String,
}

impl Request {
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.head
            .lines()
            .any(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))
    }
}

/// A server that answers as it is told, one request a connection, and remembers what it was asked.
pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    if let Some(request) = read_head(&mut stream) {
                        seen.lock().unwrap().push(request.clone());
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// Answers every request with the same bytes.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&answer);
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_head(stream: &mut TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if lines.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    Some(Request {
        method: words.next()?.to_owned(),
        target: words.next()?.to_owned(),
        head,
    })
}

pub(crate) fn write(stream: &mut TcpStream, text: &str) {
    // The client may have gone.
    let _ = stream.write_all(text.as_bytes());
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
