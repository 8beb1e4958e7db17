//! A store that answers as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What it was asked, all of the head.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) head: String,
    /// From 1.
    pub(super) number: usize,
}

impl Asked {
    pub(super) fn is(&self, method: &str) -> bool {
        self.head.starts_with(&format!("{method} "))
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.head.contains(text)
    }
}

/// Answers one request a connection.
pub(super) struct FakeStore {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FakeStore {
    /// `answer` gives the answer, after which the connection is closed.
    pub(super) fn start(answer: impl Fn(&Asked) -> String + Send + Sync + 'static) -> Self {
        Self::saying(move |asked| Some(answer(asked)))
    }

    /// Keeps connections open without a word.
    pub(super) fn silent() -> Self {
        Self::saying(|_| None)
    }

    fn saying(answer: impl Fn(&Asked) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &seen, &*answer));
            }
        });
        Self { address, asked }
    }

    pub(super) fn answering(answer: String) -> Self {
        Self::start(move |_| answer.clone())
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Option<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    // What comes over TLS is no text, and has no such end.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if !reader.read_until(b'\n', &mut head).is_ok_and(|length| length > 0) {
            return;
        }
    }
    let head = String::from_utf8(head).unwrap();
    // A connection that is closed with something unread takes the answer with it.
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    reader.read_exact(&mut vec![0; length]).unwrap();
    let asked = {
        let mut seen = seen.lock().unwrap();
        let asked = Asked {
            head,
            number: seen.len() + 1,
        };
        seen.push(asked.clone());
        asked
    };
    match answer(&asked) {
        // The client may have gone.
        Some(text) => {
            let _ = stream.write_all(text.as_bytes());
        }
        None => {
            let _ = reader.read_line(&mut String::new());
        }
    }
}

/// An answer with headers and a body of this length.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// As S3 refuses: with a reason, but not to HEAD.
pub(super) fn refuse(asked: &Asked, status: u16, code: &str, message: &str) -> String {
    let body = if asked.is("HEAD") {
        String::new()
    } else {
        format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>")
    };
    answer(status, "content-type: application/xml\r\n", &body)
}
