//! Files on HTTP servers.

pub(crate) mod client;
pub(crate) mod failure;
pub(crate) mod names;
pub(crate) mod retry;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use jiff::Timestamp;
use reqwest::{Client, Response};

use crate::error::{Problem, Waiting};
use crate::guard::Access;
use crate::reference::HttpUrl;
use crate::source::{Source, StoredBytes};
use client::{Patience, client};
use failure::{Attempts, Failure};
use retry::retry_after;

/// A URL. It is asked for with `GET` and nothing else, since a presigned URL allows nothing else.
pub(crate) struct HttpSource {
    url: HttpUrl,
    patience: Patience,
}

/// The body of an answer.
pub(crate) struct HttpBytes {
    response: Response,
    /// What was announced.
    length: Option<u64>,
    received: u64,
    idle: Duration,
}

impl HttpSource {
    pub(crate) fn new(url: HttpUrl) -> Self {
        Self {
            url,
            patience: Patience::default(),
        }
    }

    async fn get(&self, client: &Client) -> Result<HttpBytes, Failure> {
        // `identity`: what arrives is what is stored, and its length and digest mean something.
        let request = client
            .get(self.url.with_credentials().clone())
            .header(ACCEPT_ENCODING, "identity");
        let response = request
            .send()
            .await
            .map_err(|error| Failure::before_answer(error, &self.patience))?;
        match response.status() {
            StatusCode::OK => self.body(response).map_err(Failure::Final),
            status if is_overload(status) => Err(Failure::Overload {
                status,
                retry_after: retry_after(response.headers(), Timestamp::now()),
            }),
            status => Err(Failure::Final(self.refusal(status, Timestamp::now()))),
        }
    }

    fn body(&self, response: Response) -> Result<HttpBytes, Problem> {
        // A server that was asked for a folder redirects to the same with a slash, and answers with a list of files.
        let url = response.url();
        if url.path().ends_with('/') && url.query().is_none() {
            return Err(Problem::Folder);
        }
        // What we did not ask for and could not undo. Gzip and zstd are told by content, whoever applied them.
        let encodings = response.headers().get_all(CONTENT_ENCODING);
        let can_be_undone = |encoding: &str| {
            matches!(
                encoding.trim().to_ascii_lowercase().as_str(),
                "" | "identity" | "gzip" | "x-gzip" | "zstd" | "aws-chunked"
            )
        };
        let mut values = encodings
            .iter()
            .map(|value| value.to_str().unwrap_or("unreadable"));
        if !values.all(|value| value.split(',').all(can_be_undone)) {
            return Err(Problem::Encoding);
        }
        Ok(HttpBytes {
            length: response.content_length(),
            response,
            received: 0,
            idle: self.patience.idle,
        })
    }

    /// What an answer other than 200 means. Google says 400 where others say 403 of an expired URL.
    fn refusal(&self, status: StatusCode, now: Timestamp) -> Problem {
        let expiry = self.url.expiry().filter(|expiry| *expiry < now);
        match (status, expiry) {
            (StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(expiry)) => {
                Problem::Expired { status, expiry }
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => Problem::AccessDenied(status),
            (StatusCode::NOT_FOUND | StatusCode::GONE, _) => Problem::NotFound(status),
            _ => Problem::Status(status),
        }
    }
}

/// Whether a server that answers so should be asked again later.
pub(crate) fn is_overload(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

impl Source for HttpSource {
    type Bytes = HttpBytes;

    async fn open(&self) -> Result<HttpBytes, Problem> {
        let client = client(&Access::Ambient, self.url.with_credentials(), &self.patience)?;
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            match self.get(&client).await {
                Ok(bytes) => return Ok(bytes),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }
}

impl StoredBytes for HttpBytes {
    fn length(&self) -> Option<u64> {
        self.length
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        match self.response.chunk().await {
            Ok(chunk) => {
                self.received += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
                Ok(chunk)
            }
            Err(error) if error.is_timeout() => Err(Problem::Timeout {
                waiting: Waiting::More,
                limit: self.idle,
            }),
            Err(_) => Err(Problem::Cut {
                received: self.received,
                expected: self.length,
            }),
        }
    }
}
