//! What goes wrong with a source, in words for people.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;

use crate::cache::CacheError;
use crate::compression::Compression;
use crate::download::DownloadProblem;
use crate::guard::GuardProblem;
use crate::hub::HubProblem;
use crate::injected::InjectionProblem;
use crate::layout::LayoutProblem;
use crate::manifest::ManifestProblem;
use crate::reader::PinProblem;
use crate::reference::Reference;
use crate::s3::S3Problem;
use crate::tokenizer::NoTokenizer;

/// A reference that cannot be used.
///
/// `Display` is the whole message, `Cannot use <reference>: <what went wrong>. <how to fix it>.`, with credentials
/// redacted; `source` adds nothing that a person needs.
#[derive(Debug)]
pub struct SourceError {
    reference: Reference,
    problem: Box<Problem>,
}

impl SourceError {
    pub(crate) fn new(reference: Reference, problem: Problem) -> Self {
        Self {
            reference,
            problem: Box::new(problem),
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The error behind one that reading a [`Trace`](crate::Trace) gave. It already says all there is to say.
    #[must_use]
    pub fn behind(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cannot use {}: {}", self.reference, self.problem)
    }
}

impl Error for SourceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

impl From<SourceError> for io::Error {
    fn from(error: SourceError) -> Self {
        Self::other(error)
    }
}

/// What went wrong and how to fix it. Never holds a byte that a server sent, nor a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// No such local file.
    #[error("there is no such file. Check the path.")]
    NoSuchFile,
    /// A folder where a file is needed, on this machine or at the end of a redirect.
    #[error("it is a folder. Name a file in it.")]
    Folder,
    /// The local file's permissions.
    #[error("this user may not read it. Change its permissions or its owner.")]
    NotPermitted,
    /// Something in a local folder that cannot be read.
    #[error("reading {} failed: {error}. Check its permissions and the disk.", path.display())]
    InFolder {
        /// What was read.
        path: PathBuf,
        /// What stopped it.
        #[source]
        error: io::Error,
    },
    /// Any other failure of the disk.
    #[error("reading the file failed: {0}. Check the path and the disk.")]
    File(#[source] io::Error),

    /// 404 or 410.
    #[error("the server has no such file ({}). Check the URL.", .0.as_u16())]
    NotFound(StatusCode),
    /// 401 or 403.
    #[error(
        "the server denied access ({}). Check that the URL is right and complete and may be read with it; if it is \
         presigned, generate a new one.", .0.as_u16()
    )]
    AccessDenied(StatusCode),
    /// The server refused a presigned URL, and its time is over.
    #[error("the server denied access ({}), and the URL expired at {expiry}. Generate a new one.", status.as_u16())]
    Expired {
        /// The server's answer.
        status: StatusCode,
        /// When the URL stopped working.
        expiry: Timestamp,
    },
    /// 429 or 5xx, until the attempts were used up or the server asked for too long a break.
    #[error("the server could not answer ({}), {}. Try again {}.",
        status.as_u16(), times(*.attempts), retry_after.map_or_else(|| "later".to_owned(), |wait| format!("in {} s", wait.as_secs())))]
    Overloaded {
        /// The server's last answer.
        status: StatusCode,
        /// How often it was asked.
        attempts: u32,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// Any other answer than 200.
    #[error("the server answered {}, not 200 with a file. Check the URL.", .0.as_u16())]
    Status(StatusCode),
    /// More redirects than are followed, or a redirect to something that is not HTTP.
    #[error(
        "the server redirects in a circle, or to something that cannot be followed. Give the URL of the file itself."
    )]
    Redirect,
    /// From https to http, where anyone on the way could change the file.
    #[error(
        "the server redirects from https to http, where others on the way can read and change it. Give an https URL \
         of the file itself."
    )]
    Downgrade,
    /// The host or its address may not be connected to.
    #[error(transparent)]
    Guard(#[from] GuardProblem),
    /// What only buckets have.
    #[error(transparent)]
    S3(#[from] S3Problem),
    /// The answer is encoded in a way that we did not ask for.
    #[error(
        "the server sends it in an encoding other than gzip or zstd. Store it plain, or compressed with gzip or zstd."
    )]
    Encoding,
    /// The host's name has no address.
    #[error("its host was not found. Check the host's name, the network and the proxy variables.")]
    HostNotFound,
    /// Nothing listens there.
    #[error("the connection was refused. Check host and port, and that the server is running.")]
    Refused,
    /// No trust in the server, or nothing that speaks TLS there.
    #[error(
        "no secure connection came about: {}. Check the scheme, the port and the server's certificate.",
        tls(.0)
    )]
    Tls(#[source] rustls::Error),
    /// Waited in vain.
    #[error("{waiting} for {} s. Check the network and the server, and try again.", limit.as_secs_f64())]
    Timeout {
        /// What for.
        waiting: Waiting,
        /// How long.
        limit: Duration,
    },
    /// Any other failure on the way to an answer.
    #[error("the connection failed ({}). Check the network and the server, and try again.", cause(.0))]
    Connection(#[source] reqwest::Error),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up ({}). Check the proxy and certificate variables.", cause(.0))]
    Client(#[source] reqwest::Error),
    /// The connection ended before the file did.
    #[error("the connection broke after {}. Try again.", share(*.received, *.expected))]
    Cut {
        /// Bytes that came.
        received: u64,
        /// Bytes that were announced.
        expected: Option<u64>,
    },

    /// A repository of the Hugging Face hub.
    #[error(transparent)]
    Hub(#[from] HubProblem),

    /// What arrived is not kept.
    #[error(transparent)]
    Download(#[from] DownloadProblem),

    /// What is there now is not what was pinned: a force-pushed repository, a replaced object, a swapped file.
    #[error(
        "it changed after Reprise pinned its version. Run again to use the new version, or pin one that stays."
    )]
    Changed,

    /// The files of a folder that are the trace cannot be told.
    #[error(transparent)]
    Layout(#[from] LayoutProblem),

    /// The compressed file ends too early.
    #[error("it is cut off: its {compression} data ends in the middle. Get a complete copy.")]
    Truncated {
        /// How it is compressed.
        compression: Compression,
    },
    /// The compressed file is damaged, or something else follows in it.
    #[error(
        "its {compression} data cannot be unpacked ({detail}). Get an intact copy, or compress it again."
    )]
    Damaged {
        /// How it is compressed.
        compression: Compression,
        /// What the decoder said.
        #[source]
        detail: io::Error,
    },
    /// Compressed with something else.
    #[error("it is packed with {0}, which Reprise does not unpack. Use gzip, zstd or no compression.")]
    Packed(&'static str),

    /// Reprise's own cache.
    #[error("the cache {} cannot be used: {}", .0.root().display(), .0.problem())]
    Cache(#[source] CacheError),

    /// The thread that reads could not be started.
    #[error("reading could not start: {0}. Check the limits on threads and open files.")]
    Start(#[source] io::Error),
    /// A redacted URL that no injected one, or not just one, belongs to.
    #[error(transparent)]
    Injection(#[from] InjectionProblem),
    /// Reference and version do not go together.
    #[error(transparent)]
    Pin(#[from] PinProblem),
    /// A tokenizer that is none.
    #[error(transparent)]
    Tokenizer(#[from] NoTokenizer),
    /// The manifest or sidecar.
    #[error(transparent)]
    Manifest(#[from] ManifestProblem),
    /// Offline, and not in the cache.
    #[error(
        "it was not found in the cache, or not all of it, and Reprise is offline. Run once without REPRISE_OFFLINE and \
         HF_HUB_OFFLINE, with access to the source."
    )]
    NotKept,
    /// The copy in the cache is not what was fetched.
    #[error("its copy in the cache was changed after it was fetched. Remove {} and run again.", .0.display())]
    CopyDamaged(PathBuf),
    /// Reading was given up without a cause that is known here; the cause was given earlier.
    #[error("reading stopped before its end. Start again.")]
    Stopped,
}

impl Problem {
    /// A failure of the disk below the folder that was named.
    pub(crate) fn in_folder(path: &Path, error: io::Error) -> Self {
        Self::InFolder {
            path: path.to_owned(),
            error,
        }
    }

    pub(crate) fn from_file(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NoSuchFile,
            io::ErrorKind::IsADirectory => Self::Folder,
            io::ErrorKind::PermissionDenied => Self::NotPermitted,
            _ => Self::File(error),
        }
    }
}

/// What a [`Problem::Timeout`] waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A connection, with TLS where there is any.
    Connection,
    /// The head of the answer.
    Answer,
    /// More of the file.
    More,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection came about",
            Self::Answer => "the server did not answer",
            Self::More => "the server stopped sending",
        })
    }
}

fn times(attempts: u32) -> String {
    match attempts {
        1 => "asked once".to_owned(),
        n => format!("asked {n} times"),
    }
}

fn share(received: u64, expected: Option<u64>) -> String {
    match expected {
        Some(expected) => format!("{received} of {expected} bytes"),
        None => format!("{received} bytes"),
    }
}

/// In our words: those of the TLS library quote the server's certificate.
fn tls(error: &rustls::Error) -> &'static str {
    use rustls::CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            Certificate::UnknownIssuer => "this machine does not trust who signed the certificate",
            Certificate::Expired | Certificate::ExpiredContext { .. } => "the certificate has expired",
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "the certificate is for another host"
            }
            _ => "the certificate was not accepted",
        },
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS",
        _ => "the handshake failed",
    }
}

/// The innermost cause, which is the one that says something.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
