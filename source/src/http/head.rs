//! The beginning of a file, which comes with the access check.

use bytes::Bytes;

use super::body::{Part, here};
use super::headers::version;
use crate::error::Problem;
use crate::remote::{Body, Span};
use crate::version::Version;

/// The beginning of a file, in one version of it.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) version: Option<Version>,
    /// Of the whole file.
    pub(super) size: Option<u64>,
    bytes: Bytes,
}

impl Head {
    const LENGTH: u64 = 64 * 1024;
    pub(super) const SPAN: Span = Span {
        from: 0,
        length: Some(Self::LENGTH),
    };

    /// Reads no further than it needs to.
    pub(super) async fn receive(part: Part) -> Result<Self, Problem> {
        let headers = part.headers().clone();
        let (total, is_whole) = (part.total(), part.is_whole());
        let (bytes, is_all) = part.beginning(Self::LENGTH).await?;
        let size = total.or((is_whole && is_all).then_some(bytes.len() as u64));
        Ok(Self {
            version: version(&headers, size),
            size,
            bytes,
        })
    }

    /// A part of the file, if all of it is here.
    pub(super) fn body(&self, span: Span) -> Option<Body> {
        let length = self.bytes.len() as u64;
        let end = match span.length {
            Some(asked) => span.from.checked_add(asked)?,
            None => u64::MAX,
        };
        let is_here = end <= length || self.size == Some(length);
        let bounds = [span.from, end].map(|at| usize::try_from(at.min(length)).ok());
        let [Some(from), Some(to)] = bounds else {
            return None;
        };
        is_here.then(|| here(span.from, self.size, self.bytes.slice(from..to)))
    }
}
