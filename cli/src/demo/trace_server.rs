//! A web server for one file, on loopback.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// Serves one file until the process ends.
pub(super) struct TraceServer {
    url: String,
}

impl TraceServer {
    /// Starts serving `bytes` under `name`, on a free port.
    pub(super) fn start(name: &str, bytes: &'static [u8]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let url = format!("http://{}/{name}", listener.local_addr()?);
        let name = name.to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = answer(&stream, &name, bytes) {
                    tracing::debug!(%error, "a client of the demo's trace left early");
                }
            }
        });
        Ok(Self { url })
    }

    /// Where the file is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn answer(mut stream: &TcpStream, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut head = BufReader::new(stream);
    let mut request = String::new();
    head.read_line(&mut request)?;
    let mut line = String::new();
    // The head of a request ends with an empty line.
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    if request.split(' ').nth(1) != Some(&format!("/{name}")) {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {0}\r\nETag: \"{0}\"\r\nConnection: close\r\n\r\n",
        bytes.len()
    )?;
    stream.write_all(bytes)
}
