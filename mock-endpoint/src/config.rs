//! What an endpoint is told before it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use http::{HeaderName, StatusCode};

use crate::latency::Latency;

/// Everything that can be set. `Config::default()` answers at once, on a free port of the loopback interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where to listen. Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The model that `GET /v1/models` names, and that answers a request that names none. Every model is accepted.
    pub model: String,
    /// From a request's arrival (or, with `capacity`, from its turn) to its first token.
    pub ttft: Latency,
    /// From one token of an answer to the next.
    pub inter_token_latency: Latency,
    /// Tokens of an answer whose request has neither `max_tokens` nor `max_completion_tokens`.
    pub default_tokens: NonZeroU32,
    /// Tokens that come in one chunk of a stream. A chunk is due when its first token is.
    pub tokens_per_chunk: NonZeroU32,
    /// How many requests are worked on at a time; others wait in order of arrival. `None`: all of them.
    pub capacity: Option<NonZeroU32>,
    /// Errors given to a share of the requests.
    pub errors: Option<RandomErrors>,
    /// Seeds all that is drawn. Draws depend on this seed and on the request's index, on nothing else.
    pub seed: u64,
    /// What is kept of arrivals.
    pub arrivals: ArrivalLog,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            model: "mock-model".to_owned(),
            ttft: Latency::ZERO,
            inter_token_latency: Latency::ZERO,
            default_tokens: NonZeroU32::MIN.saturating_add(15),
            tokens_per_chunk: NonZeroU32::MIN,
            capacity: None,
            errors: None,
            seed: 0,
            arrivals: ArrivalLog::default(),
        }
    }
}

/// A share of all requests is answered with an error status.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomErrors {
    /// How many of the requests, on average.
    pub share: Share,
    /// What they are answered with.
    pub status: ErrorStatus,
}

/// What is kept of each arrival, and where. Nothing is kept that is not asked for here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalLog {
    /// Keep arrivals in memory for [`Endpoint::arrivals`](crate::Endpoint::arrivals) and `GET /mock/arrivals`:
    /// 56 bytes each and the request ID, and more where headers, digests or bodies are kept. On by default in the library.
    pub in_memory: bool,
    /// Append arrivals to this file as JSON lines. An existing file is replaced.
    pub file: Option<PathBuf>,
    /// Keep the SHA-256 of each body. Costs about a microsecond a kilobyte.
    pub digests: bool,
    /// Keep the bodies.
    pub bodies: bool,
    /// Keep these request headers, beside `x-request-id`, which is always kept.
    pub headers: Vec<HeaderName>,
}

impl Default for ArrivalLog {
    fn default() -> Self {
        Self {
            in_memory: true,
            file: None,
            digests: false,
            bodies: false,
            headers: Vec::new(),
        }
    }
}

/// A share from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

/// Why a text is not a share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Cannot use {0:?} as a share: it is no number from 0 to 1. Write for example 0.1.")]
pub struct ShareError(String);

impl Share {
    /// The share as a number from 0 to 1.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        match text.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self(share)),
            _ => Err(ShareError(text.to_owned())),
        }
    }
}

/// An HTTP status from 400 to 599.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorStatus(StatusCode);

/// Why a text is not an error status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Cannot use {0:?} as an error status: it is no number from 400 to 599. Write for example 503.")]
pub struct ErrorStatusError(String);

impl ErrorStatus {
    /// The status itself.
    #[must_use]
    pub fn get(self) -> StatusCode {
        self.0
    }
}

impl FromStr for ErrorStatus {
    type Err = ErrorStatusError;

    fn from_str(text: &str) -> Result<Self, ErrorStatusError> {
        match text.parse::<StatusCode>() {
            Ok(status) if status.is_client_error() || status.is_server_error() => Ok(Self(status)),
            _ => Err(ErrorStatusError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_between_0_and_1() {
        assert!((".25".parse::<Share>().unwrap().get() - 0.25).abs() < f64::EPSILON);
        for refused in ["-0.1", "1.1", "nan", "", "10%"] {
            assert!(refused.parse::<Share>().is_err(), "{refused}");
        }
    }

    #[test]
    fn error_statuses_are_4xx_and_5xx() {
        assert_eq!(
            "429".parse::<ErrorStatus>().unwrap().get(),
            StatusCode::TOO_MANY_REQUESTS
        );
        for refused in ["200", "399", "600", "x", ""] {
            assert!(refused.parse::<ErrorStatus>().is_err(), "{refused}");
        }
    }
}
