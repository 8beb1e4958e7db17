//! Why an attempt to get an answer failed, and whether another one could help.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::StatusCode;

use super::Patience;
use super::names::NameNotFound;
use super::retry::Retry;
use crate::error::{Problem, Waiting};

/// A failed attempt.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Asking again gives the same answer.
    Final(Problem),
    /// Asking again may help.
    Passing(Problem),
    /// The server wants to be asked later.
    Overload {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
}

impl Failure {
    /// Tells apart what can go wrong before there is an answer.
    pub(crate) fn before_answer(error: reqwest::Error, patience: &Patience) -> Self {
        let error = error.without_url();
        if error.is_timeout() {
            let (waiting, limit) = if error.is_connect() {
                (Waiting::Connection, patience.connect)
            } else {
                (Waiting::Answer, patience.idle)
            };
            return Self::Passing(Problem::Timeout { waiting, limit });
        }
        // The URL itself is known to be good, so only a redirect can have led to one that is not.
        if error.is_redirect() || error.is_builder() {
            return Self::Final(Problem::Redirect);
        }
        let causes = Causes::of(&error);
        if causes.name_not_found {
            Self::Final(Problem::HostNotFound)
        } else if let Some(tls) = causes.tls {
            Self::Final(Problem::Tls(tls))
        } else if causes.is_refused {
            Self::Final(Problem::Refused)
        } else {
            Self::Passing(Problem::Connection(error))
        }
    }

    /// How long to wait before the next attempt; `None` when there is none.
    pub(crate) fn pause(&self, retry: &Retry, attempts: u32) -> Option<Duration> {
        match self {
            Self::Final(_) => None,
            Self::Passing(_) => retry.pause(attempts, None),
            Self::Overload { retry_after, .. } => retry.pause(attempts, *retry_after),
        }
    }

    pub(crate) fn into_problem(self, attempts: u32) -> Problem {
        match self {
            Self::Final(problem) | Self::Passing(problem) => problem,
            Self::Overload { status, retry_after } => Problem::Overloaded {
                status,
                attempts,
                retry_after,
            },
        }
    }
}

/// What is known of the causes of a failed connection.
#[derive(Default)]
struct Causes {
    name_not_found: bool,
    is_refused: bool,
    tls: Option<rustls::Error>,
}

impl Causes {
    fn of(error: &reqwest::Error) -> Self {
        let mut causes = Self::default();
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(cause) = next {
            causes.add(cause);
            next = cause.source();
        }
        causes
    }

    fn add(&mut self, cause: &(dyn Error + 'static)) {
        self.name_not_found |= cause.is::<NameNotFound>();
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            self.is_refused |= error.kind() == io::ErrorKind::ConnectionRefused;
            // An `io::Error` skips the error inside it when asked for its source.
            if let Some(inner) = error.get_ref() {
                self.add(inner);
            }
        }
        if let Some(error) = cause.downcast_ref::<rustls::Error>() {
            self.tls = Some(error.clone());
        }
    }
}
