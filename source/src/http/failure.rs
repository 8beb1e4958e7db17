//! Why an attempt to get an answer failed, and whether another one could help.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::StatusCode;
use tokio::time::sleep;

use super::client::{Patience, RedirectRefusal};
use super::names::NameError;
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
        if let Some(problem) = known_cause(&error) {
            return Self::Final(problem);
        }
        // The URL itself is known to be good, so only a redirect can have led to one that is not.
        if error.is_redirect() || error.is_builder() {
            return Self::Final(Problem::Redirect);
        }
        Self::Passing(Problem::Connection(error))
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

/// Attempts at one request.
pub(crate) struct Attempts {
    retry: Retry,
    failed: u32,
}

impl Attempts {
    pub(crate) fn new(retry: Retry) -> Self {
        Self { retry, failed: 0 }
    }

    /// Waits until the next attempt may be made.
    ///
    /// # Errors
    ///
    /// What went wrong, when there is no further attempt.
    pub(crate) async fn after(&mut self, failure: Failure) -> Result<(), Problem> {
        self.failed += 1;
        match failure.pause(&self.retry, self.failed) {
            Some(pause) => {
                sleep(pause).await;
                Ok(())
            }
            None => Err(failure.into_problem(self.failed)),
        }
    }
}

/// The first of the causes that asking again does not mend.
pub(crate) fn known_cause(error: &(dyn Error + 'static)) -> Option<Problem> {
    let mut next = Some(error);
    while let Some(cause) = next {
        let problem = problem_of(cause).or_else(|| {
            // An `io::Error` skips the error inside it when asked for its source.
            let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
            known_cause(inner)
        });
        if problem.is_some() {
            return problem;
        }
        next = cause.source();
    }
    None
}

fn problem_of(cause: &(dyn Error + 'static)) -> Option<Problem> {
    if let Some(error) = cause.downcast_ref::<NameError>() {
        return Some(match error {
            NameError::NotFound(_) => Problem::HostNotFound,
            NameError::Guard(problem) => Problem::Guard(*problem),
        });
    }
    if let Some(refusal) = cause.downcast_ref::<RedirectRefusal>() {
        return Some((*refusal).into());
    }
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(Problem::Tls(error.clone()));
    }
    let error = cause.downcast_ref::<io::Error>()?;
    (error.kind() == io::ErrorKind::ConnectionRefused).then_some(Problem::Refused)
}
