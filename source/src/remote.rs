//! What a remote place has to be able to do. One implementation a kind of place: `hub`, `s3`, `http`.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use reprise_contract::Digest;

use crate::error::Problem;
use crate::version::Version;

/// A remote place, set up for one reference: what is there, as which version, and its bytes.
///
/// Dropping a future or a body ends the transfer at once. Passing failures (time-outs, 429, 5xx) are tried again inside,
/// three attempts in total; a body that breaks in the middle is not, since only the caller knows how much of it was kept.
pub(crate) trait Remote: Send + Sync {
    /// The access check: reads metadata only. A reference that names a version finds that one or nothing.
    fn look_up(&self) -> impl Future<Output = Result<Found, Problem>> + Send;

    /// A file beside the one that the reference names, in the same version of the same place: `name` is its whole file
    /// name. `None` when there is none, or when the place cannot have one (a URL with a query).
    fn beside(
        &self,
        found: &Found,
        name: &str,
    ) -> impl Future<Output = Result<Option<RemoteFile>, Problem>> + Send;

    /// The bytes of one file of `found`, in exactly the version that was found: [`Problem::Changed`] when that is gone.
    fn read(
        &self,
        found: &Found,
        file: &RemoteFile,
        span: Span,
    ) -> impl Future<Output = Result<Body, Problem>> + Send;
}

/// What a reference names, pinned.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The version of all of it. `None` when the place tells none: what is there can be read, and never proved.
    pub(crate) version: Option<Version>,
    /// The reference that names exactly this version wherever it is run again; `None` where there is no such thing.
    pub(crate) canonical: Option<String>,
    pub(crate) shape: Shape,
}

/// What is there under a reference.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    File(RemoteFile),
    /// A repository, a folder or a prefix: all files in it at any depth, in the order of names.
    Folder(Vec<RemoteFile>),
}

/// One file at a remote place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteFile {
    /// In a folder, its path below it (`data/part-0.parquet`); else the file's own name.
    pub(crate) name: String,
    /// Where it lies, in the words of the source: the path in the repository, the key in the bucket, nothing for a URL.
    pub(crate) location: String,
    /// In bytes, where the place says so.
    pub(crate) size: Option<u64>,
    /// What the place says of the content, if it says it in a form that can be checked.
    pub(crate) sha256: Option<Digest>,
    /// Changes with the content: the entity tag, or on the hub the blob's name.
    pub(crate) tag: Option<String>,
}

/// A part of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u64,
    /// How many bytes at most; `None` for all the rest.
    pub(crate) length: Option<u64>,
}

impl Span {
    pub(crate) const WHOLE: Self = Self {
        from: 0,
        length: None,
    };
}

/// Bytes on their way.
pub(crate) struct Body {
    /// Where they begin: what was asked for, or 0 when the server does not send parts. Then they may also be more than
    /// were asked for.
    pub(crate) from: u64,
    /// The size of the whole file, where the server says so.
    pub(crate) total: Option<u64>,
    /// The bytes, in pieces of at most a few MiB. Fewer than were announced are an error at the end, never a silent one.
    pub(crate) bytes: Pin<Box<dyn Stream<Item = Result<Bytes, Problem>> + Send>>,
}

impl Body {
    /// The next bytes; `None` after the last ones.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        poll_fn(|context| self.bytes.as_mut().poll_next(context))
            .await
            .transpose()
    }
}
