//! A URL that is read without being fetched first.

use bytes::Bytes;

use super::HttpSource;
use crate::error::Problem;
use crate::remote::{Body, Span};
use crate::source::{Source, StoredBytes};

/// The body of an answer.
pub(crate) struct HttpBytes(Body);

impl Source for HttpSource {
    type Bytes = HttpBytes;

    async fn open(&self) -> Result<HttpBytes, Problem> {
        let part = self.part("", Span::WHOLE, None).await?;
        Ok(HttpBytes(part.into_body()))
    }
}

impl StoredBytes for HttpBytes {
    fn length(&self) -> Option<u64> {
        self.0.total
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        self.0.next().await
    }
}
