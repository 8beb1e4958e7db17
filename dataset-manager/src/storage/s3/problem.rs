//! What goes wrong with the bucket for results, in words for people.

use std::fmt;
use std::time::Duration;

use reprise_crds::S3FolderError;

/// Why results cannot be stored in a bucket. Holds no byte that a server sent but the name of a region, and no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum S3Problem {
    /// `results.s3.url` is none.
    #[error("results.s3.url {0}. {hint}", hint = .0.hint())]
    Folder(S3FolderError),
    /// `results.s3.endpoint` is none.
    #[error("results.s3.endpoint is not a URL. Write it like https://minio.example.com:9000.")]
    Endpoint,
    /// No keys.
    #[error(
        "there are no credentials for it, and those of the dataset are not used. Set REPRISE_RESULTS_AWS_ACCESS_KEY_ID and \
         REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY."
    )]
    NoCredentials,
    /// One key of two.
    #[error("of its credentials, {missing} is missing. Set it.")]
    HalfCredentials {
        /// The variable.
        missing: &'static str,
    },
    /// `NoSuchBucket`
    #[error(
        "there is no such bucket. Check its name, and the endpoint if it is not on AWS (results.s3.endpoint), or create it."
    )]
    NoSuchBucket,
    /// 403, and nothing more is known.
    #[error("access was denied. Allow {0} on this folder to the credentials for results.")]
    AccessDenied(Action),
    /// `SignatureDoesNotMatch`
    #[error("the secret key does not belong to the access key. Check REPRISE_RESULTS_AWS_SECRET_ACCESS_KEY.")]
    WrongSecret,
    /// `InvalidAccessKeyId`
    #[error(
        "the store does not know the access key. Check REPRISE_RESULTS_AWS_ACCESS_KEY_ID, and that it is meant for this \
         endpoint (results.s3.endpoint)."
    )]
    UnknownAccessKey,
    /// `ExpiredToken` and its kin.
    #[error(
        "the credentials have expired, or their session token is not valid. Get new ones, and set \
         REPRISE_RESULTS_AWS_SESSION_TOKEN along with the keys."
    )]
    ExpiredToken,
    /// The bucket is elsewhere.
    #[error("{}", wrong_region(.0.as_deref()))]
    WrongRegion(Option<String>),
    /// `RequestTimeTooSkewed`
    #[error("this machine's clock and the store's are too far apart. Set this machine's clock.")]
    ClockSkew,
    /// The bucket's key may not be used.
    #[error(
        "the bucket encrypts with a KMS key that may not be used or cannot be. Allow kms:GenerateDataKey and kms:Decrypt on \
         it, or check that it is enabled."
    )]
    Kms,
    /// A quota, or a full disk behind the store.
    #[error("the store has no room left. Free some, or raise the quota of the bucket.")]
    Full,
    /// An object of this name has another content.
    #[error("it has another {0} already. Name another folder (results.s3.url), or move that one away.")]
    Taken(String),
    /// The store has something else than it was given.
    #[error("the store has {0} as something else than it was given. Check the store, and try again.")]
    Garbled(String),
    /// The store has nothing of what it was given, or does not show it.
    #[error(
        "{0} is not there after it was put there. Allow s3:GetObject on this folder to the credentials for results, check the \
         store, and try again."
    )]
    Lost(String),
    /// 429 or 5xx, time after time.
    #[error("the store is overloaded or broken ({status}, after {attempts} attempts). Try again later.")]
    Overloaded {
        /// Its answer.
        status: u16,
        /// Requests, the first included.
        attempts: u32,
    },
    /// No answer.
    #[error("the store did not answer within {}. Check the network and the store, and try again.", seconds(*.0))]
    Timeout(Duration),
    /// The connection could not be made, or broke before there was an answer.
    #[error(
        "the connection to the store failed. Check the network and the endpoint (results.s3.endpoint), and try again."
    )]
    Connection,
    /// Any other answer.
    #[error(
        "the store's answer ({0}) is none that S3 gives here. Check that the endpoint is that of an S3 store \
         (results.s3.endpoint)."
    )]
    Answer(u16),
    /// Not the answer of an S3 store at all.
    #[error("what answers there does not speak S3. Check the endpoint (results.s3.endpoint).")]
    NotS3,
    /// The request could not be made.
    #[error("the request could not be set up. Check results.s3.endpoint and results.s3.region.")]
    Setup,
}

/// What a request needs to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To look at an object.
    GetObject,
    /// To put an object.
    PutObject,
    /// To take back an upload.
    AbortMultipartUpload,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GetObject => "s3:GetObject",
            Self::PutObject => "s3:PutObject",
            Self::AbortMultipartUpload => "s3:AbortMultipartUpload",
        })
    }
}

fn wrong_region(region: Option<&str>) -> String {
    match region {
        Some(region) => format!("the bucket is in the region {region}. Set results.s3.region to it."),
        None => "the bucket is in another region. Set results.s3.region to it.".to_owned(),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
