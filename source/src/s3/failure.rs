//! Why a request failed, from what the client says of it.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use http::StatusCode;

use super::connect::{Connection, fault};
use super::problem::{Action, Caller, S3Problem};
use super::settings::is_region;
use crate::error::{Problem, Waiting};
use crate::http::client::Patience;
use crate::http::failure::known_cause;

/// A request that did not bring what it asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no more to know.
    Problem(Problem),
    /// The store said no. What that means depends on what was asked for.
    Refusal(Refusal),
}

/// What the store said, without a word of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// Answers to `HEAD` have none.
    pub(super) reason: Option<Reason>,
    /// Where the bucket is.
    region: Option<String>,
    is_delete_marker: bool,
}

/// The error codes of S3 that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NoSuchBucket,
    NoSuchKey,
    NoSuchVersion,
    Argument,
    Denied,
    Signature,
    AccessKey,
    Token,
    Region,
    Clock,
    Archived,
    Kms,
    CustomerKey,
    Precondition,
    Range,
    Other,
}

impl Reason {
    fn of(code: &str, message: &str) -> Self {
        match code {
            "NoSuchBucket" => Self::NoSuchBucket,
            "NoSuchKey" => Self::NoSuchKey,
            "NoSuchVersion" => Self::NoSuchVersion,
            "InvalidArgument" => Self::Argument,
            // The code is the same as of an object that may not be read; only the text tells.
            "AccessDenied" if message.contains("kms:") => Self::Kms,
            "AccessDenied" | "AllAccessDisabled" | "AccountProblem" | "Forbidden" => Self::Denied,
            "SignatureDoesNotMatch" => Self::Signature,
            "InvalidAccessKeyId" => Self::AccessKey,
            "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => Self::Token,
            "PermanentRedirect"
            | "TemporaryRedirect"
            | "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException" => Self::Region,
            "RequestTimeTooSkewed" => Self::Clock,
            "InvalidObjectState" => Self::Archived,
            code if code.starts_with("KMS.") => Self::Kms,
            "InvalidRequest" if message.contains("Server Side Encryption") => Self::CustomerKey,
            "PreconditionFailed" => Self::Precondition,
            "InvalidRange" => Self::Range,
            _ => Self::Other,
        }
    }
}

impl Failure {
    pub(super) fn of<E>(error: SdkError<E, HttpResponse>, patience: &Patience) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match error {
            SdkError::ServiceError(service) => {
                Self::answered(service.raw(), service.err(), patience.retry.attempts)
            }
            SdkError::ResponseError(_) => Self::Problem(S3Problem::NotS3.into()),
            error => Self::Problem(unanswered(&error, patience)),
        }
    }

    fn answered(answer: &HttpResponse, error: &impl ProvideErrorMetadata, attempts: u32) -> Self {
        let status = StatusCode::from_u16(answer.status().as_u16());
        // A success that the client could make nothing of.
        let Some(status) = status.ok().filter(|status| !status.is_success()) else {
            return Self::Problem(S3Problem::NotS3.into());
        };
        let is_overload = status == StatusCode::TOO_MANY_REQUESTS
            || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
        if is_overload {
            return Self::Problem(Problem::Overloaded {
                status,
                attempts,
                retry_after: None,
            });
        }
        let header = |name| answer.headers().get(name);
        let message = error.message().unwrap_or_default();
        Self::Refusal(Refusal {
            status,
            // The client makes up a code of its own for the bare 404 that answers a HEAD.
            reason: error
                .code()
                .filter(|code| *code != "NotFound")
                .map(|code| Reason::of(code, message)),
            region: header("x-amz-bucket-region")
                .filter(|region| is_region(region))
                .map(ToOwned::to_owned),
            is_delete_marker: header("x-amz-delete-marker") == Some("true"),
        })
    }

    /// Where the bucket is instead, if the store said so when it refused.
    pub(super) fn elsewhere(&self, region: &str) -> Option<String> {
        match self {
            Self::Refusal(refusal) => refusal.region.clone().filter(|other| other != region),
            Self::Problem(_) => None,
        }
    }

    /// What it means for whoever wanted to do `action`.
    pub(super) fn into_problem(self, action: Action, connection: &Connection) -> Problem {
        match self {
            Self::Problem(problem) => problem,
            Self::Refusal(refusal) => refusal.problem(action, connection).into(),
        }
    }
}

impl From<S3Problem> for Failure {
    fn from(problem: S3Problem) -> Self {
        Self::Problem(problem.into())
    }
}

impl Refusal {
    fn problem(&self, action: Action, connection: &Connection) -> S3Problem {
        let denied = |caller: Caller| S3Problem::AccessDenied { caller, action };
        match (self.reason, self.status) {
            (Some(Reason::NoSuchBucket), _) => S3Problem::NoSuchBucket,
            (Some(Reason::NoSuchVersion), _) => S3Problem::NoSuchVersion,
            (Some(Reason::Argument), _) | (None, StatusCode::BAD_REQUEST)
                if action == Action::GetObjectVersion =>
            {
                S3Problem::NoSuchVersion
            }
            // A version that is a delete marker.
            (_, StatusCode::METHOD_NOT_ALLOWED) if action == Action::GetObjectVersion => S3Problem::Deleted,
            (_, StatusCode::NOT_FOUND) if self.is_delete_marker => S3Problem::Deleted,
            (Some(Reason::Signature), _) => S3Problem::WrongSecret,
            (Some(Reason::AccessKey), _) => S3Problem::UnknownAccessKey,
            (Some(Reason::Token), _) => S3Problem::ExpiredToken,
            (Some(Reason::Clock), _) => S3Problem::ClockSkew,
            (Some(Reason::Archived), _) => S3Problem::Archived,
            (Some(Reason::Kms), _) => S3Problem::Kms,
            (Some(Reason::CustomerKey), _) => S3Problem::CustomerKey,
            (Some(Reason::Region), _) => S3Problem::WrongRegion {
                region: connection.region.clone(),
            },
            (_, status) if status.is_redirection() => S3Problem::WrongRegion {
                region: connection.region.clone(),
            },
            (Some(Reason::Denied), _) | (_, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                denied(connection.caller)
            }
            (Some(Reason::NoSuchKey) | None, StatusCode::NOT_FOUND) if action == Action::GetObjectVersion => {
                S3Problem::NoSuchVersion
            }
            (Some(Reason::NoSuchKey) | None, StatusCode::NOT_FOUND) if action == Action::GetObject => {
                S3Problem::NoSuchKey
            }
            (_, StatusCode::BAD_REQUEST) => S3Problem::Malformed(self.status),
            (_, status) => S3Problem::Answer(status),
        }
    }

    /// No such object, and it was not deleted either: it may be a prefix.
    pub(super) fn is_absence(&self) -> bool {
        self.status == StatusCode::NOT_FOUND && !self.is_delete_marker
    }
}

fn unanswered<E>(error: &SdkError<E, HttpResponse>, patience: &Patience) -> Problem
where
    E: Error + 'static,
{
    if let Some(problem) = known_cause(error) {
        return problem;
    }
    if let Some(error) = cause::<CredentialsError>(error) {
        return S3Problem::Credentials(fault(error)).into();
    }
    match error {
        SdkError::DispatchFailure(failure) if failure.is_timeout() => time_out(error, patience),
        SdkError::DispatchFailure(failure) if !failure.is_user() => S3Problem::Connection.into(),
        SdkError::TimeoutError(_) => time_out(error, patience),
        _ => S3Problem::Setup.into(),
    }
}

/// The client has two time-outs and tells them apart in words only.
fn time_out(error: &(dyn Error + 'static), patience: &Patience) -> Problem {
    let mut next = Some(error);
    while let Some(cause) = next {
        if cause.to_string().starts_with("HTTP connect timeout") {
            return Problem::Timeout {
                waiting: Waiting::Connection,
                limit: patience.connect,
            };
        }
        next = cause.source();
    }
    Problem::Timeout {
        waiting: Waiting::Answer,
        limit: patience.idle,
    }
}

/// The first of the causes that is an `E`.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}
