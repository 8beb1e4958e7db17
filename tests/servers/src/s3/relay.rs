//! A relay in front of a server that remembers what it was asked.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The head of a request, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Request {
    /// `GET`, `HEAD` …
    pub method: String,
    /// Path and query, byte for byte.
    pub target: String,
    /// Names and values, in their order and spelling.
    pub headers: Vec<(String, String)>,
}

impl S3Request {
    /// The value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        Some(Self {
            method: words.next()?.to_owned(),
            target: words.next()?.to_owned(),
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        })
    }
}

/// Passes requests without a body on to a server that closes the connection after each answer.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<S3Request>>>,
}

impl Relay {
    pub(super) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let relay = Self {
            address: listener.local_addr().expect("its address"),
            requests: Arc::default(),
        };
        let requests = Arc::clone(&relay.requests);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                // A client may go at any time.
                thread::spawn(move || {
                    let _ = pass_on(client, server, &requests);
                });
            }
        });
        relay
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn requests(&self) -> Vec<S3Request> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn pass_on(mut client: TcpStream, server: SocketAddr, requests: &Mutex<Vec<S3Request>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    requests.lock().expect("no panic").extend(S3Request::parse(&head));
    let mut server = TcpStream::connect(server)?;
    server.write_all(head.as_bytes())?;
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}
