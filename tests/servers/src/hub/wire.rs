//! HTTP/1.1, as much of it as a hub needs.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::Shared;
use super::fault::{self, Fault};
use super::routes::answer;

/// Which of the two was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Hub,
    Storage,
}

/// A request as it came.
pub(super) struct Request {
    pub(super) method: String,
    /// With its query, encoded.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Logged {
    /// `GET`, `HEAD` or `POST`.
    pub method: String,
    /// Whether the storage was asked, not the hub.
    pub is_storage: bool,
    /// Path and query, encoded as they came.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// What was answered; 0 where the connection was ended instead.
    pub status: u16,
    /// How much of the body was sent, or was about to be when the client hung up.
    pub sent: u64,
}

impl Logged {
    /// A header of the request.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether a file was asked for, or where it lies.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.is_storage || self.target.contains("/resolve/") || self.target.starts_with("/api/resolve-cache/")
    }
}

pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = headers.iter().find(|(found, _)| found == name)?;
    Some(value)
}

/// What is sent back.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

/// The whole body, and which part of it is sent.
pub(super) struct Body {
    bytes: Arc<Vec<u8>>,
    from: usize,
    to: usize,
}

impl Body {
    pub(super) fn new(bytes: impl Into<Arc<Vec<u8>>>) -> Self {
        let bytes = bytes.into();
        Self {
            from: 0,
            to: bytes.len(),
            bytes,
        }
    }

    fn sent(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::new(body.into()),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The part that `Range` asks for, or the refusal of one that is none.
    fn part(mut self, range: &str) -> Self {
        let total = self.body.bytes.len();
        let bounds = range.strip_prefix("bytes=").and_then(|range| {
            let (first, last) = range.split_once('-')?;
            if first.is_empty() {
                return Some((total.saturating_sub(last.parse().ok()?), total.checked_sub(1)?));
            }
            let last = if last.is_empty() {
                total.checked_sub(1)?
            } else {
                last.parse().ok()?
            };
            Some((first.parse().ok()?, last.min(total.checked_sub(1)?)))
        });
        match bounds {
            Some((first, last)) if first <= last => {
                self.status = 206;
                (self.body.from, self.body.to) = (first, last + 1);
                self.with("Content-Range", format!("bytes {first}-{last}/{total}"))
            }
            _ => Self::new(416, Vec::new()).with("Content-Range", format!("bytes */{total}")),
        }
    }

    fn serves_parts(&self) -> bool {
        self.status == 200 && self.headers.iter().any(|(name, _)| *name == "Accept-Ranges")
    }
}

/// Answers requests until the client hangs up.
pub(super) fn serve(shared: &Shared, host: Host, stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        let fault = fault::take(&mut shared.faults.lock().unwrap(), &request.target);
        let index = shared.remember(host, &request);
        let is_head = request.method == "HEAD";
        let (answer, stop) = match fault {
            Some(Fault::HangUp) => return Ok(()),
            Some(Fault::Status(status)) => (Answer::new(status, Vec::new()), None),
            Some(Fault::RetryAfter(status, seconds)) => (
                Answer::new(status, Vec::new()).with("Retry-After", seconds.to_string()),
                None,
            ),
            Some(Fault::Body(body)) => (Answer::new(200, body), None),
            Some(Fault::NoParts) => (answer(shared, host, &request), None),
            Some(Fault::Header(name, value)) => {
                let mut answer = with_range(answer(shared, host, &request), &request);
                answer.headers.retain(|(found, _)| *found != name);
                answer.headers.extend(value.map(|value| (name, value.to_owned())));
                (answer, None)
            }
            Some(Fault::Cut(after)) => (
                with_range(answer(shared, host, &request), &request),
                Some((after, true)),
            ),
            Some(Fault::Stall(after)) => (
                with_range(answer(shared, host, &request), &request),
                Some((after, false)),
            ),
            None => (with_range(answer(shared, host, &request), &request), None),
        };
        if let Some(logged) = shared.log.lock().unwrap().get_mut(index) {
            logged.status = answer.status;
        }
        write_head(&mut writer, &answer)?;
        if is_head {
            continue;
        }
        let body = answer.body.sent();
        let (now, later) = body.split_at(stop.map_or(body.len(), |(after, _)| after.min(body.len())));
        shared.send(&mut writer, index, now)?;
        match stop {
            Some((_, true)) => return Ok(()),
            Some((_, false)) => {
                shared.stall();
                shared.send(&mut writer, index, later)?;
            }
            None => {}
        }
    }
    Ok(())
}

fn with_range(answer: Answer, request: &Request) -> Answer {
    match header(&request.headers, "range") {
        Some(range) if answer.serves_parts() => answer.part(range),
        _ => answer,
    }
}

impl Shared {
    /// Returns where it stands in the log.
    fn remember(&self, host: Host, request: &Request) -> usize {
        let mut log = self.log.lock().unwrap();
        log.push(Logged {
            method: request.method.clone(),
            is_storage: host == Host::Storage,
            target: request.target.clone(),
            headers: request.headers.clone(),
            status: 0,
            sent: 0,
        });
        log.len() - 1
    }

    fn send(&self, writer: &mut impl Write, index: usize, body: &[u8]) -> io::Result<()> {
        for chunk in body.chunks(1 << 16) {
            // Before it is sent: who has received it finds it in the log.
            if let Some(logged) = self.log.lock().unwrap().get_mut(index) {
                logged.sent += chunk.len() as u64;
            }
            writer.write_all(chunk)?;
        }
        writer.flush()
    }
}

fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut parts = line.split_whitespace();
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = header(&headers, "content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body,
    }))
}

fn write_head(writer: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut head = Vec::new();
    write!(head, "HTTP/1.1 {} -\r\n", answer.status)?;
    for (name, value) in &answer.headers {
        write!(head, "{name}: {value}\r\n")?;
    }
    write!(head, "Content-Length: {}\r\n\r\n", answer.body.sent().len())?;
    writer.write_all(&head)
}
