//! A server that does as it is told.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The head of a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, hopefully.
    pub method: String,
    /// Path and query, as they arrived.
    pub target: String,
    /// All lines.
    pub head: String,
}

impl Request {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Whether there is such a header.
    #[must_use]
    pub fn has_header(&self, name: &str) -> bool {
        self.header(name).is_some()
    }

    /// The first byte that a `Range` asks for, and the last one if it is named.
    #[must_use]
    pub fn range(&self) -> Option<(usize, Option<usize>)> {
        let (from, to) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()))
    }
}

/// Answers as it is told, one request a connection, and remembers what it was asked.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// A server whose answers are written by `answer`.
    pub fn start(answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), answer)
    }

    /// The same on another address of this machine.
    pub fn at(address: IpAddr, answer: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let address = listen(address, move |mut stream| {
            if let Some(request) = read_head(&stream) {
                seen.lock().unwrap().push(request.clone());
                answer(&request, &mut stream);
            }
        });
        Self { address, requests }
    }

    /// Answers every request with the same bytes.
    pub fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, stream| {
            // The client may have gone.
            let _ = stream.write_all(&answer);
        })
    }

    /// Takes connections and never says a word.
    #[must_use]
    pub fn silent() -> Self {
        let held = Mutex::new(Vec::new());
        let address = listen(Ipv4Addr::LOCALHOST.into(), move |stream| {
            held.lock().unwrap().push(stream);
        });
        Self {
            address,
            requests: Arc::default(),
        }
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path and query.
    #[must_use]
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// All that was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Each connection gets a thread, which ends with the connection or with the process.
fn listen(address: IpAddr, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    address
}

fn read_head(stream: &TcpStream) -> Option<Request> {
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

/// Writes to a client that may have gone.
pub fn write(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}
