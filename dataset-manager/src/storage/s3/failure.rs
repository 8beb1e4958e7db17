//! Why a request failed, from what the client says of it.

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use super::Patience;
use super::problem::{Action, S3Problem};

/// The longest name of a region that is taken for one.
const MAX_REGION: usize = 64;

/// A request that was refused or not answered.
#[derive(Debug)]
pub(super) enum Failure {
    /// What it means depends on what was asked for: no such object, or nothing of it is known.
    Absent,
    /// 403, and nothing more is known.
    Denied,
    /// The store knows nothing of the upload.
    NoSuchUpload,
    /// There is no more to know.
    Problem(S3Problem),
}

impl Failure {
    pub(super) fn of<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>, patience: Patience) -> Self {
        match error {
            SdkError::ServiceError(service) => Self::answered(service.raw(), service.err(), patience),
            SdkError::ResponseError(_) => Self::Problem(S3Problem::NotS3),
            SdkError::TimeoutError(_) => Self::Problem(S3Problem::Timeout(patience.answer)),
            SdkError::DispatchFailure(failure) if failure.is_timeout() => {
                Self::Problem(S3Problem::Timeout(patience.connect))
            }
            SdkError::DispatchFailure(failure) if !failure.is_user() => Self::Problem(S3Problem::Connection),
            _ => Self::Problem(S3Problem::Setup),
        }
    }

    fn answered(answer: &HttpResponse, error: &impl ProvideErrorMetadata, patience: Patience) -> Self {
        let status = answer.status();
        if let Some(known) = error.code().and_then(|code| Self::of_code(code, error.message())) {
            return known;
        }
        match status.as_u16() {
            // The client makes up a code of its own for the bare answers to a HEAD.
            404 => Self::Absent,
            401 | 403 => Self::Denied,
            301 | 307 | 400 => match region(answer) {
                None if status.is_client_error() => Self::Problem(S3Problem::Answer(400)),
                region => Self::Problem(S3Problem::WrongRegion(region)),
            },
            507 => Self::Problem(S3Problem::Full),
            code if code == 429 || status.is_server_error() && code != 501 => {
                Self::Problem(S3Problem::Overloaded {
                    status: code,
                    attempts: patience.attempts,
                })
            }
            // A success that the client could make nothing of.
            _ if status.is_success() => Self::Problem(S3Problem::NotS3),
            code => Self::Problem(S3Problem::Answer(code)),
        }
        .with_region(answer)
    }

    /// The error codes of S3 that are told apart, wherever they come.
    fn of_code(code: &str, message: Option<&str>) -> Option<Self> {
        Some(match code {
            "NoSuchUpload" => Self::NoSuchUpload,
            "NoSuchBucket" => Self::Problem(S3Problem::NoSuchBucket),
            "SignatureDoesNotMatch" => Self::Problem(S3Problem::WrongSecret),
            "InvalidAccessKeyId" => Self::Problem(S3Problem::UnknownAccessKey),
            "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => {
                Self::Problem(S3Problem::ExpiredToken)
            }
            "RequestTimeTooSkewed" => Self::Problem(S3Problem::ClockSkew),
            "PermanentRedirect"
            | "TemporaryRedirect"
            | "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException" => Self::Problem(S3Problem::WrongRegion(None)),
            // The code is the same as of an object that may not be written; only the text tells.
            "AccessDenied" if message.is_some_and(|message| message.contains("kms:")) => {
                Self::Problem(S3Problem::Kms)
            }
            code if code.starts_with("KMS.") => Self::Problem(S3Problem::Kms),
            "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => Self::Denied,
            "QuotaExceeded"
            | "XMinioStorageFull"
            | "XMinioAdminBucketQuotaExceeded"
            | "InsufficientCapacity" => Self::Problem(S3Problem::Full),
            _ => return None,
        })
    }

    /// Names the region, if the store said where the bucket is.
    fn with_region(self, answer: &HttpResponse) -> Self {
        match self {
            Self::Problem(S3Problem::WrongRegion(None)) => {
                Self::Problem(S3Problem::WrongRegion(region(answer)))
            }
            other => other,
        }
    }

    /// What it means for whoever wanted to do `action`.
    pub(super) fn into_problem(self, action: Action) -> S3Problem {
        match self {
            Self::Problem(problem) => problem,
            Self::Denied => S3Problem::AccessDenied(action),
            Self::Absent | Self::NoSuchUpload => S3Problem::Answer(404),
        }
    }
}

fn region(answer: &HttpResponse) -> Option<String> {
    let region = answer.headers().get("x-amz-bucket-region")?;
    let is_region = (1..=MAX_REGION).contains(&region.len())
        && region
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    is_region.then(|| region.to_owned())
}
