//! The log of arrivals: what came in and when, by the endpoint's own clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::arrival_file::ArrivalFile;
use crate::clock::Epoch;
use crate::config::ArrivalLog;

/// One request as the endpoint saw it. Probes (`GET /health`, `GET /v1/models`) and `/mock/…` are not logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The place in the order in which heads were read, from 0. `DELETE /mock/arrivals` starts again at 0.
    pub index: u64,
    /// When the request's head reached the machine, in nanoseconds since the endpoint started, on the monotonic clock.
    /// It is the kernel's stamp of the packet that completed the head (or, where one read took in more, of the last
    /// packet of that read); where the kernel gave none, it is when the head was read.
    pub arrival_ns: u64,
    /// The same instant in nanoseconds since the Unix epoch: the wall clock at the start plus `arrival_ns`.
    pub arrival_unix_ns: u64,
    /// The HTTP method.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// The status it was answered with; `None` if the connection ended or was closed before an answer began.
    pub status: Option<u16>,
    /// Bytes of the body that were read.
    pub body_bytes: u64,
    /// SHA-256 of the body in hexadecimal, where digests were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_sha256: Option<String>,
    /// The header `x-request-id`, if it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The headers that were asked for and sent, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body, where bodies were asked for. In JSON a string, or `{"hex": "…"}` where it is no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "body_as_text")]
    pub body: Option<Bytes>,
}

/// Counts of all logged requests, kept whatever else is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// When the endpoint started, on the machine's `CLOCK_MONOTONIC`, in nanoseconds.
    pub started_monotonic_ns: u64,
    /// When the endpoint started, on the wall clock, in nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// Requests whose head was read.
    pub requests: u64,
    /// When the first of them arrived, in nanoseconds since the start.
    pub first_arrival_ns: Option<u64>,
    /// When the last of them arrived, in nanoseconds since the start.
    pub last_arrival_ns: Option<u64>,
    /// How many were answered with each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many ended before an answer began.
    pub unanswered: u64,
    /// Connections that could not be accepted, for example for want of file descriptors.
    pub accept_errors: u64,
}

/// The log of one endpoint.
#[derive(Debug)]
pub(crate) struct Arrivals {
    epoch: Epoch,
    kept: ArrivalLog,
    file: Option<ArrivalFile>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Goes up with each reset, so that a request from before it is not counted after it.
    generation: u64,
    requests: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    statuses: BTreeMap<u16, u64>,
    unanswered: u64,
    accept_errors: u64,
    routes: Vec<Arc<Route>>,
    records: Vec<Record>,
}

/// Method and path, shared by the records of all requests to it.
#[derive(Debug)]
struct Route {
    method: Method,
    path: Box<str>,
}

/// Further routes are not shared, so that looking one up stays cheap.
const SHARED_ROUTES: usize = 32;

/// One arrival in 56 bytes; what is rarely kept stands behind a pointer.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    index: u64,
    arrival_ns: u64,
    route: Arc<Route>,
    body_bytes: u32,
    status: Option<StatusCode>,
    request_id: Option<Box<str>>,
    extras: Option<Box<Extras>>,
}

#[derive(Debug, Clone, Default)]
struct Extras {
    body_sha256: Option<[u8; 32]>,
    headers: Vec<(HeaderName, Box<str>)>,
    body: Option<Bytes>,
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Arrivals {
    pub(crate) fn open(epoch: Epoch, kept: ArrivalLog) -> io::Result<Self> {
        let file = kept
            .file
            .as_deref()
            .map(|path: &Path| ArrivalFile::create(path, epoch))
            .transpose()?;
        Ok(Self {
            epoch,
            kept,
            file,
            state: Mutex::default(),
        })
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Counts a request that arrived at `arrival_monotonic_ns` and gives it its index.
    pub(crate) fn arrived(
        self: &Arc<Self>,
        arrival_monotonic_ns: u64,
        request: &http::request::Parts,
    ) -> OpenArrival {
        let arrival_ns = self.epoch.since_start(arrival_monotonic_ns);
        let extras = self.extras(&request.headers);
        let mut state = self.state();
        let index = state.requests;
        state.requests += 1;
        state.first_ns = Some(
            state
                .first_ns
                .map_or(arrival_ns, |first_ns| first_ns.min(arrival_ns)),
        );
        state.last_ns = state.last_ns.max(Some(arrival_ns));
        let route = state.route(&request.method, request.uri.path());
        let request_id = text(&request.headers, &REQUEST_ID);
        let record = Record {
            index,
            arrival_ns,
            route,
            body_bytes: 0,
            status: None,
            request_id,
            extras,
        };
        OpenArrival {
            log: Arc::clone(self),
            generation: state.generation,
            record: Some(record),
        }
    }

    fn extras(&self, headers: &HeaderMap) -> Option<Box<Extras>> {
        let kept: Vec<_> = self
            .kept
            .headers
            .iter()
            .filter_map(|name| Some((name.clone(), text(headers, name)?)))
            .collect();
        (!kept.is_empty()).then(|| {
            Box::new(Extras {
                headers: kept,
                ..Extras::default()
            })
        })
    }

    pub(crate) fn count_accept_error(&self) {
        self.state().accept_errors += 1;
    }

    /// Whether arrivals are kept in memory.
    pub(crate) fn in_memory(&self) -> bool {
        self.kept.in_memory
    }

    /// All kept arrivals whose requests have been read, by index.
    pub(crate) fn list(&self) -> Vec<Arrival> {
        let mut records = self.state().records.clone();
        records.sort_unstable_by_key(|record| record.index);
        records
            .into_iter()
            .map(|record| record.into_arrival(self.epoch))
            .collect()
    }

    pub(crate) fn summary(&self) -> Summary {
        let state = self.state();
        Summary {
            started_monotonic_ns: self.epoch.monotonic_ns,
            started_unix_ns: self.epoch.unix_ns,
            requests: state.requests,
            first_arrival_ns: state.first_ns,
            last_arrival_ns: state.last_ns,
            statuses: state.statuses.clone(),
            unanswered: state.unanswered,
            accept_errors: state.accept_errors,
        }
    }

    /// Forgets all arrivals and counts. The clock and the log file go on.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        *state = State {
            generation: state.generation + 1,
            ..State::default()
        };
    }

    /// Writes what is still to be written to the log file, and closes it.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), ArrivalFile::close)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn route(&mut self, method: &Method, path: &str) -> Arc<Route> {
        if let Some(known) = self
            .routes
            .iter()
            .find(|route| route.method == method && *route.path == *path)
        {
            return Arc::clone(known);
        }
        let route = Arc::new(Route {
            method: method.clone(),
            path: path.into(),
        });
        if self.routes.len() < SHARED_ROUTES {
            self.routes.push(Arc::clone(&route));
        }
        route
    }
}

/// An arrival that is still being read. Dropped unfinished, it is logged as unanswered.
#[derive(Debug)]
pub(crate) struct OpenArrival {
    log: Arc<Arrivals>,
    generation: u64,
    record: Option<Record>,
}

impl OpenArrival {
    pub(crate) fn index(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.index)
    }

    /// Notes the body, or the part of it that could be read.
    pub(crate) fn body(&mut self, body: &Bytes) {
        let (digests, bodies) = (self.log.kept.digests, self.log.kept.bodies);
        let Some(record) = &mut self.record else { return };
        record.body_bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        if digests || bodies {
            let extras = record.extras.get_or_insert_default();
            extras.body_sha256 = digests.then(|| Sha256::digest(body).into());
            extras.body = bodies.then(|| body.clone());
        }
    }

    /// Logs the arrival with the status that its answer starts with.
    pub(crate) fn answered(mut self, status: StatusCode) {
        self.finish(Some(status));
    }

    fn finish(&mut self, status: Option<StatusCode>) {
        let Some(mut record) = self.record.take() else {
            return;
        };
        record.status = status;
        if let Some(file) = &self.log.file {
            file.append(record.clone());
        }
        let mut state = self.log.state();
        if state.generation != self.generation {
            return;
        }
        match status {
            Some(status) => *state.statuses.entry(status.as_u16()).or_default() += 1,
            None => state.unanswered += 1,
        }
        if self.log.kept.in_memory {
            state.records.push(record);
        }
    }
}

impl Drop for OpenArrival {
    fn drop(&mut self) {
        self.finish(None);
    }
}

impl Record {
    pub(crate) fn into_arrival(self, epoch: Epoch) -> Arrival {
        let extras = self.extras.map(|extras| *extras).unwrap_or_default();
        Arrival {
            index: self.index,
            arrival_ns: self.arrival_ns,
            arrival_unix_ns: epoch.unix_ns + self.arrival_ns,
            method: self.route.method.to_string(),
            path: self.route.path.to_string(),
            status: self.status.map(|status| status.as_u16()),
            body_bytes: u64::from(self.body_bytes),
            body_sha256: extras.body_sha256.map(|digest| hex(&digest)),
            request_id: self.request_id.map(String::from),
            headers: extras
                .headers
                .into_iter()
                .map(|(name, value)| (name.to_string(), value.into_string()))
                .collect(),
            body: extras.body,
        }
    }
}

/// A header's value as text; bytes that are no UTF-8 are replaced.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<Box<str>> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into())
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Bodies in JSON: a string where that is possible.
mod body_as_text {
    use bytes::Bytes;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Hex { hex: String },
    }

    #[allow(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(body: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
        body.as_ref()
            .map(|body| match str::from_utf8(body) {
                Ok(text) => Form::Text(text.to_owned()),
                Err(_) => Form::Hex {
                    hex: super::hex(body),
                },
            })
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
        let Some(form) = Option::<Form>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let bytes = match form {
            Form::Text(text) => Some(text.into_bytes()),
            Form::Hex { hex } => (0..hex.len())
                .step_by(2)
                .map(|at| {
                    hex.get(at..at + 2)
                        .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                })
                .collect(),
        };
        bytes
            .map(|bytes| Some(bytes.into()))
            .ok_or_else(|| D::Error::custom("not hexadecimal"))
    }
}

#[cfg(test)]
mod tests;
