//! What goes wrong with a bucket, in words for people.

use std::fmt;

use http::StatusCode;

/// Where credentials are looked for, in this order.
const PLACES: &str = "the environment (AWS_ACCESS_KEY_ID), the profile files (AWS_PROFILE), a web identity \
                      (AWS_WEB_IDENTITY_TOKEN_FILE), the container's credentials (AWS_CONTAINER_CREDENTIALS_FULL_URI) and \
                      the instance's metadata";

/// What went wrong with an `s3://` reference and how to fix it: what follows `Cannot use <reference>: `. Never holds a byte
/// that a server sent, nor a credential.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum S3Problem {
    /// `NoSuchBucket`
    #[error(
        "there is no such bucket. Check its name, and the endpoint if it is not on AWS (dataset.s3.endpoint or \
         AWS_ENDPOINT_URL)."
    )]
    NoSuchBucket,
    /// Neither an object nor a prefix.
    #[error(
        "the bucket has no such object, and no files below it. Check the key: it is written as it is, without \
         percent-encoding."
    )]
    NoSuchKey,
    /// The newest version is a delete marker.
    #[error("the object was deleted. Name an earlier version with ?versionId=, or upload it again.")]
    Deleted,
    /// `NoSuchVersion`, or not the form of one.
    #[error(
        "the object has no such version. Check the version id, or leave it out to use the current version."
    )]
    NoSuchVersion,
    /// Nothing below a prefix.
    #[error("there are no files below this prefix. Check the prefix.")]
    EmptyPrefix,
    /// More below a prefix than anyone wants to fetch.
    #[error("there are more than {limit} files below this prefix. Name a smaller one, or one object.")]
    TooManyFiles {
        /// As many are fine.
        limit: usize,
    },
    /// 403, and nothing more is known.
    #[error("{}", denied(*.caller, *.action))]
    AccessDenied {
        /// Whose request it was.
        caller: Caller,
        /// What it needs.
        action: Action,
    },
    /// `SignatureDoesNotMatch`
    #[error(
        "the secret key does not belong to the access key. Check AWS_SECRET_ACCESS_KEY, or the profile that AWS_PROFILE \
         names."
    )]
    WrongSecret,
    /// `InvalidAccessKeyId`
    #[error(
        "the store does not know the access key. Check AWS_ACCESS_KEY_ID, or the profile that AWS_PROFILE names, and that \
         both are meant for this endpoint."
    )]
    UnknownAccessKey,
    /// `ExpiredToken` and its kin.
    #[error(
        "the credentials have expired, or their session token is not valid. Get new ones (aws sso login for a profile with \
         SSO) and set AWS_SESSION_TOKEN along with the keys."
    )]
    ExpiredToken,
    /// Credentials are set up, and could not be had.
    #[error("{}", .0)]
    Credentials(CredentialsFault),
    /// The bucket is elsewhere, and the store does not say where.
    #[error(
        "the bucket is not in the region {region}. Set dataset.s3.region or AWS_REGION to the region of the bucket."
    )]
    WrongRegion {
        /// Where it was looked for.
        region: String,
    },
    /// `RequestTimeTooSkewed`
    #[error("this machine's clock and the store's are too far apart. Set this machine's clock.")]
    ClockSkew,
    /// In Glacier or an archive tier.
    #[error(
        "the object is archived and cannot be read at once. Restore it, or copy it into a storage class without retrieval."
    )]
    Archived,
    /// Encrypted with a KMS key.
    #[error(
        "the object is encrypted with a KMS key that may not be used or cannot be. Allow kms:Decrypt on this key, or check \
         that it is enabled."
    )]
    Kms,
    /// Encrypted with a key that the reader must bring along.
    #[error(
        "the object is encrypted with a key of its owner's (SSE-C), which Reprise does not take. Store it with SSE-S3 or \
         SSE-KMS."
    )]
    CustomerKey,
    /// 400, and nothing more is known.
    #[error(
        "the store refused the request as malformed ({}). Check the key, the region and the endpoint.", .0.as_u16()
    )]
    Malformed(StatusCode),
    /// Any other answer.
    #[error(
        "the store's answer ({}) is none that S3 gives here. Check that the endpoint is that of an S3 store.", .0.as_u16()
    )]
    Answer(StatusCode),
    /// Not the answer of an S3 store at all.
    #[error(
        "what answers there does not speak S3. Check the endpoint (dataset.s3.endpoint or AWS_ENDPOINT_URL)."
    )]
    NotS3,
    /// Other bytes than were asked for.
    #[error(
        "the store sent another part of the object than was asked for. Try again, or use another endpoint."
    )]
    WrongPart,
    /// The bytes are not those that were stored.
    #[error("the bytes that came do not match the checksum that the store has of them. Try again.")]
    Checksum,
    /// The connection broke before there was an answer.
    #[error("the connection to the store failed. Check the network and the store, and try again.")]
    Connection,
    /// The endpoint that is configured outside of Reprise.
    #[error(
        "the endpoint that AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile gives is not an http:// or https:// URL of a \
         host. Correct it."
    )]
    Endpoint,
    /// The request could not be made.
    #[error(
        "the request could not be set up. Check the endpoint, the region, and the variables and profile files of AWS."
    )]
    Setup,
}

/// Whose requests they are; what to advise depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Somebody's whose credentials were found.
    Known,
    /// Nobody's: no credentials were found.
    Unknown,
    /// Nobody's: none were looked for.
    Anonymous,
}

/// What a request needs to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To read an object.
    GetObject,
    /// To read a certain version of an object.
    GetObjectVersion,
    /// To list what is below a prefix.
    ListBucket,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GetObject => "s3:GetObject",
            Self::GetObjectVersion => "s3:GetObjectVersion",
            Self::ListBucket => "s3:ListBucket",
        })
    }
}

/// Why credentials that are set up could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialsFault {
    /// A profile, variable or file that makes no sense.
    Configuration,
    /// Who hands them out refuses, or cannot be reached.
    Refused,
    /// Who hands them out takes too long.
    TimedOut,
}

impl fmt::Display for CredentialsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => {
                "the AWS credentials are set up in a way that cannot be used. Check AWS_PROFILE and the profile files."
            }
            Self::Refused => {
                "the AWS credentials could not be had from who hands them out. Check the role and its trust policy, the \
                 token file, the SSO session, or the credential process."
            }
            Self::TimedOut => {
                "who hands out the AWS credentials did not answer in time. Check the network and try again."
            }
        })
    }
}

fn denied(caller: Caller, action: Action) -> String {
    match caller {
        Caller::Known => {
            let hint = match action {
                Action::ListBucket => "",
                Action::GetObject | Action::GetObjectVersion => {
                    " Check the key as well: whoever may not s3:ListBucket is told the same of an object that is not there."
                }
            };
            format!(
                "access was denied to the credentials that were found. Allow them {action}, or use another profile or \
                 role.{hint}"
            )
        }
        Caller::Unknown => format!(
            "access was denied, and no credentials were found in {PLACES}. Provide credentials that allow {action}, or make \
             it public."
        ),
        Caller::Anonymous => format!(
            "access was denied to an anonymous reader. Allow {action} to everyone, or read it with credentials."
        ),
    }
}
