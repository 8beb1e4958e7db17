//! The worker's calls to the manager: one function a call, one attempt each.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reprise_contract::protocol::{
    Armed, ClockReading, Confirmed, Directive, Incarnation, Join, Joined, Readied, Ready, Received, Refusal,
    RefusalCode, names, path,
};
use reprise_identity::{SecretsError, WorkerSecrets};
use reqwest::redirect::Policy;
use reqwest::{Certificate, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use url::Url;

use super::settings::Settings;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Long polls are answered after 10 s at most.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
const CLOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A full batch takes that long at 140 kB/s.
const BATCH_TIMEOUT: Duration = Duration::from_mins(1);
/// A shard may take any time, but not stand still for so long.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// A client that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No secrets.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The root certificate is none.
    #[error("Cannot use ca.crt of the run's Secret: {0}. Mount the run's own Secret.")]
    Root(#[source] reqwest::Error),
    /// TLS cannot be set up.
    #[error("Cannot set up TLS to the dataset-manager: {0}. Check ca.crt of the run's Secret.")]
    Tls(#[source] reqwest::Error),
}

/// A call without the answer that it was for.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer, or not all of it.
    #[error("{}", chain(.0))]
    Unreachable(#[source] reqwest::Error),
    /// The manager says no.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// Something else answered, or the manager failed.
    #[error("it answered with status {0}")]
    Status(StatusCode),
    /// The answer is not what it should be.
    #[error("its answer cannot be understood: {0}")]
    Unreadable(#[source] serde_json::Error),
}

impl CallError {
    /// The manager's reason, if it refused.
    pub(super) fn refusal(&self) -> Option<RefusalCode> {
        match self {
            Self::Refused(refusal) => Some(refusal.code),
            Self::Unreachable(_) | Self::Status(_) | Self::Unreadable(_) => None,
        }
    }
}

/// An error and its causes, where the interesting one is the last.
fn chain(error: &reqwest::Error) -> String {
    let first: &dyn std::error::Error = error;
    let words: Vec<_> = std::iter::successors(Some(first), |error| error.source())
        .map(ToString::to_string)
        .collect();
    words.join(": ")
}

/// The worker's calls to the manager. Clones share connections; [`Self::apart`] has its own.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    calls: Arc<Calls>,
}

/// What all clients of a worker share.
struct Calls {
    manager: Url,
    authorization: String,
    root: Certificate,
    index: u32,
    incarnation: Incarnation,
    /// When the manager answered last, whatever it said.
    heard: Mutex<Instant>,
}

impl Client {
    /// A client with the secrets of the settings' folder.
    ///
    /// # Errors
    /// When they cannot be read or used.
    pub(super) fn new(settings: &Settings) -> Result<Self, ClientError> {
        let secrets = WorkerSecrets::read(Path::new(&settings.secrets))?;
        let root = Certificate::from_pem(secrets.root_pem.as_bytes()).map_err(ClientError::Root)?;
        let calls = Calls {
            manager: settings.manager.clone(),
            authorization: format!("Bearer {}", secrets.token.expose()),
            root,
            index: settings.index,
            incarnation: settings.incarnation.clone(),
            heard: Mutex::new(Instant::now()),
        };
        Ok(Self {
            http: connections(&calls.root)?,
            calls: Arc::new(calls),
        })
    }

    /// The same client with connections of its own, for calls that must not wait behind others.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub(super) fn apart(&self) -> Result<Self, ClientError> {
        Ok(Self {
            http: connections(&self.calls.root)?,
            calls: self.calls.clone(),
        })
    }

    /// This worker's life.
    pub(super) fn incarnation(&self) -> &Incarnation {
        &self.calls.incarnation
    }

    /// How long the manager has not answered.
    pub(super) fn silence(&self) -> Duration {
        let heard = self.calls.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed()
    }

    /// Announces the worker.
    pub(super) async fn join(&self, join: &Join) -> Result<Joined, CallError> {
        let call = self.http.post(self.url(path::JOIN, None)).json(join);
        self.json(call.timeout(CALL_TIMEOUT)).await
    }

    /// Asks for the manager's clock.
    pub(super) async fn clock(&self) -> Result<ClockReading, CallError> {
        let call = self.http.get(self.url(path::CLOCK, None));
        self.json(call.timeout(CLOCK_TIMEOUT)).await
    }

    /// Asks for a shard, to be read from the answer.
    pub(super) async fn shard(&self, shard: u32) -> Result<Response, CallError> {
        let mut url = self.url(path::SHARDS, Some(shard));
        self.name_incarnation(&mut url);
        self.call(self.http.get(url)).await
    }

    /// Says that this worker is ready, or will never be.
    pub(super) async fn ready(&self, failure: Option<String>) -> Result<Readied, CallError> {
        let ready = Ready {
            incarnation: self.calls.incarnation.clone(),
            failure,
        };
        let url = self.url(path::READY, Some(self.calls.index));
        self.json(self.http.post(url).json(&ready).timeout(CALL_TIMEOUT))
            .await
    }

    /// Confirms T0.
    pub(super) async fn armed(&self, epoch: u32, t0_manager_ns: i64) -> Result<Confirmed, CallError> {
        let armed = Armed {
            incarnation: self.calls.incarnation.clone(),
            epoch,
            t0_manager_ns,
        };
        let url = self.url(path::ARMED, Some(self.calls.index));
        self.json(self.http.post(url).json(&armed).timeout(CALL_TIMEOUT))
            .await
    }

    /// Waits for a directive other than the one that was seen last.
    pub(super) async fn control(&self, seen: Option<u64>) -> Result<Directive, CallError> {
        let mut url = self.url(path::CONTROL, Some(self.calls.index));
        self.name_incarnation(&mut url);
        if let Some(seen) = seen {
            url.query_pairs_mut().append_pair(names::SEEN, &seen.to_string());
        }
        self.json(self.http.get(url).timeout(CALL_TIMEOUT)).await
    }

    /// Delivers a batch.
    pub(super) async fn outcomes(&self, batch: Bytes) -> Result<Received, CallError> {
        let url = self.url(path::OUTCOMES, Some(self.calls.index));
        self.json(self.http.post(url).body(batch).timeout(BATCH_TIMEOUT))
            .await
    }

    fn url(&self, path: &str, number: Option<u32>) -> Url {
        let mut url = self.calls.manager.clone();
        match number {
            Some(number) => url.set_path(&format!("{path}/{number}")),
            None => url.set_path(path),
        }
        url
    }

    fn name_incarnation(&self, url: &mut Url) {
        let incarnation = self.calls.incarnation.to_string();
        url.query_pairs_mut()
            .append_pair(names::INCARNATION, &incarnation);
    }

    async fn json<T: DeserializeOwned>(&self, call: RequestBuilder) -> Result<T, CallError> {
        let body = self.call(call).await?.bytes().await;
        let body = body.map_err(CallError::Unreachable)?;
        serde_json::from_slice(&body).map_err(CallError::Unreadable)
    }

    async fn call(&self, call: RequestBuilder) -> Result<Response, CallError> {
        let call = call.header(http::header::AUTHORIZATION, &self.calls.authorization);
        let answer = call.send().await.map_err(CallError::Unreachable)?;
        self.hear();
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        Err(match refusal(answer).await? {
            Some(refusal) => CallError::Refused(refusal),
            None => CallError::Status(status),
        })
    }

    /// The manager is there.
    pub(super) fn hear(&self) {
        *self.calls.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// What the manager says about a refusal; `None` when it was not the manager that answered, or it failed.
async fn refusal(mut answer: Response) -> Result<Option<Refusal>, CallError> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(CallError::Unreachable)? {
        body.extend_from_slice(&part);
        if body.len() > MAX_REFUSAL_BYTES {
            return Ok(None);
        }
    }
    Ok(serde_json::from_slice(&body).ok())
}

/// Connections that trust the run's certificate and nobody else, and go straight to the manager whatever proxy the
/// environment names: that one is for the way to the target.
fn connections(root: &Certificate) -> Result<reqwest::Client, ClientError> {
    reqwest::Client::builder()
        .tls_certs_only([root.clone()])
        .https_only(true)
        .http1_only()
        .no_proxy()
        .redirect(Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(STALL_TIMEOUT)
        .build()
        .map_err(ClientError::Tls)
}
