//! What a selection reads of a place: over the network, out of a store, or both.

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;

use crate::error::Problem;
use crate::keeping::Keeping;
use crate::layout::is_named_parquet;
use crate::origin::Origin;
use crate::reference::Reference;
use crate::remote::{Body, Found, Remote, RemoteFile, Span};
use crate::store::Store;

/// A place, as far as it can be read: a reader that keeps nothing has no store, and one that is offline has no origin.
pub(crate) struct Shelf<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) origin: Option<&'a Origin>,
    pub(crate) keeping: Option<&'a Keeping>,
}

impl Shelf<'_> {
    /// A file beside the one that was found, by its whole name.
    pub(crate) async fn beside(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        match (self.origin, self.keeping) {
            (Some(origin), _) => origin.beside(found, name).await,
            (None, Some(keeping)) => keeping.beside(found, name),
            (None, None) => Ok(None),
        }
    }

    /// The first bytes of a file, at most `limit`.
    pub(crate) async fn start(&self, found: &Found, file: &RemoteFile, limit: u64) -> Result<Bytes, Problem> {
        match self.kept_start(found, file, limit)? {
            Some(bytes) => Ok(bytes),
            None => self.remote_start(found, file, limit).await,
        }
    }

    /// All bytes of a small file, which is then kept. Of one with more than `limit` only so many, and one more.
    pub(crate) async fn whole(&self, found: &Found, file: &RemoteFile, limit: u64) -> Result<Bytes, Problem> {
        if let Some(bytes) = self.kept_start(found, file, limit + 1)? {
            return Ok(bytes);
        }
        let bytes = self.remote_start(found, file, limit + 1).await?;
        if bytes.len() as u64 <= limit
            && let Some(keeping) = self.keeping
        {
            keeping.keep(found, file, &bytes)?;
        }
        Ok(bytes)
    }

    fn kept_start(&self, found: &Found, file: &RemoteFile, limit: u64) -> Result<Option<Bytes>, Problem> {
        let kept = self
            .keeping
            .map(|keeping| keeping.find(found, file))
            .transpose()?;
        let start = kept.flatten().map(|kept| kept.start(limit)).transpose();
        Ok(start.map_err(Problem::from_file)?.map(Bytes::from))
    }

    async fn remote_start(&self, found: &Found, file: &RemoteFile, limit: u64) -> Result<Bytes, Problem> {
        let origin = self.origin.ok_or(Problem::NotKept)?;
        let span = Span {
            from: 0,
            length: Some(limit),
        };
        collect(origin.read(found, file, span).await?, limit).await
    }

    /// Whether a file is Parquet, as far as that can be told without reading it.
    pub(crate) fn is_parquet(&self, file: &RemoteFile) -> bool {
        match self.origin {
            Some(Origin::Local(place)) => place.is_parquet(file),
            _ => is_named_parquet(&file.name),
        }
    }

    /// A reference that can be used as it is: of a file in the folder that was found, or of the folder when `path` is
    /// empty.
    pub(crate) fn reference_to(&self, path: &str) -> String {
        self.reference.below(path).to_string()
    }
}

/// The bytes of a body, at most `limit`; more were not asked for.
async fn collect(body: Body, limit: u64) -> Result<Bytes, Problem> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut collected = BytesMut::new();
    let mut bytes = body.bytes;
    while collected.len() < limit
        && let Some(piece) = bytes.try_next().await?
    {
        collected.extend_from_slice(&piece[..piece.len().min(limit - collected.len())]);
    }
    Ok(collected.freeze())
}
