//! The bytes of an object on their way.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::{ByteStream, ByteStreamError};
use aws_smithy_checksums::body::validate;
use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::problem::S3Problem;
use crate::error::{Problem, Waiting};
use crate::remote::{Body, RemoteFile, Span};

/// The body of an answer, once it is known to be a part of the right object.
///
/// # Errors
///
/// When it is another part than was asked for, or of another version.
pub(super) fn of_part(
    part: GetObjectOutput,
    file: &RemoteFile,
    span: Span,
    idle: Duration,
) -> Result<Body, Problem> {
    // Not every store heeds If-Match.
    if let (Some(found), Some(sent)) = (&file.tag, part.e_tag())
        && found != sent
    {
        return Err(Problem::Changed);
    }
    let length = part
        .content_length()
        .and_then(|length| u64::try_from(length).ok());
    let (from, total) = match part.content_range().map(ContentRange::parse) {
        None => (0, length),
        Some(Some(range)) if range.is(span, length) => (range.from, range.total),
        Some(_) => return Err(S3Problem::WrongPart.into()),
    };
    if let (Some(size), Some(total)) = (file.size, total)
        && size != total
    {
        return Err(Problem::Changed);
    }
    Ok(Body {
        from,
        total: total.or(file.size),
        bytes: Box::pin(ObjectBytes {
            bytes: part.body,
            expected: length,
            received: 0,
            idle,
            silence: Box::pin(sleep(idle)),
            is_over: false,
        }),
    })
}

/// What is left of a file that was already read to its end.
pub(super) fn nothing(from: u64, total: Option<u64>) -> Body {
    Body {
        from,
        total,
        bytes: Box::pin(Nothing),
    }
}

struct Nothing;

impl Stream for Nothing {
    type Item = Result<Bytes, Problem>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

/// `bytes 0-99/1000`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentRange {
    pub(super) from: u64,
    pub(super) last: u64,
    pub(super) total: Option<u64>,
}

impl ContentRange {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let (from, last) = range.split_once('-')?;
        let range = Self {
            from: from.parse().ok()?,
            last: last.parse().ok()?,
            total: match total {
                "*" => None,
                total => Some(total.parse().ok()?),
            },
        };
        (range.from <= range.last && range.total.is_none_or(|total| range.last < total)).then_some(range)
    }

    /// Whether it is what was asked for, as far as the object goes, and the answer is as long as that.
    pub(super) fn is(&self, span: Span, length: Option<u64>) -> bool {
        let asked_last = span
            .length
            .map(|length| span.from.saturating_add(length).saturating_sub(1));
        let end = self.total.map(|total| total.saturating_sub(1));
        let last = match (asked_last, end) {
            (Some(asked), Some(end)) => Some(asked.min(end)),
            (asked, end) => asked.or(end),
        };
        self.from == span.from
            && last.is_none_or(|last| self.last == last)
            && length.is_none_or(|length| length == self.last - self.from + 1)
    }
}

struct ObjectBytes {
    bytes: ByteStream,
    /// What was announced.
    expected: Option<u64>,
    received: u64,
    idle: Duration,
    /// Runs out when nothing has come for too long.
    silence: Pin<Box<Sleep>>,
    is_over: bool,
}

impl Stream for ObjectBytes {
    type Item = Result<Bytes, Problem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let item = match Pin::new(&mut self.bytes).poll_next(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                let deadline = Instant::now() + self.idle;
                self.silence.as_mut().reset(deadline);
                self.received += bytes.len() as u64;
                return Poll::Ready(Some(Ok(bytes)));
            }
            Poll::Ready(Some(Err(error))) => Some(Err(self.problem(&error))),
            Poll::Ready(None) if self.expected.is_some_and(|expected| self.received < expected) => {
                Some(Err(self.cut()))
            }
            Poll::Ready(None) => None,
            Poll::Pending => match self.silence.as_mut().poll(context) {
                Poll::Ready(()) => Some(Err(Problem::Timeout {
                    waiting: Waiting::More,
                    limit: self.idle,
                })),
                Poll::Pending => return Poll::Pending,
            },
        };
        self.is_over = true;
        Poll::Ready(item)
    }
}

impl ObjectBytes {
    fn problem(&self, error: &ByteStreamError) -> Problem {
        let mut next: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(cause) = next {
            if cause.is::<validate::Error>() {
                return S3Problem::Checksum.into();
            }
            next = cause.source();
        }
        self.cut()
    }

    fn cut(&self) -> Problem {
        Problem::Cut {
            received: self.received,
            expected: self.expected,
        }
    }
}
