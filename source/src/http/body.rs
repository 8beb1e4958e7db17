//! The bodies of answers.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http::HeaderMap;
use reqwest::Response;

use super::headers::ContentRange;
use crate::error::{Problem, Waiting};
use crate::remote::{Body, Span};

/// A file or a part of it, of which the head has arrived.
pub(crate) struct Part {
    response: Response,
    from: u64,
    /// The bytes that have to come: what was announced, and no more than were asked for.
    length: Option<u64>,
    total: Option<u64>,
    is_whole: bool,
    idle: Duration,
}

impl Part {
    /// The answer of a server that sends all of the file.
    pub(crate) fn whole(response: Response, idle: Duration) -> Self {
        let length = response.content_length();
        Self {
            response,
            from: 0,
            length,
            total: length,
            is_whole: true,
            idle,
        }
    }

    /// The answer of a server that sends what was asked for, or more or less of it.
    pub(crate) fn of_range(response: Response, range: ContentRange, asked: Span, idle: Duration) -> Self {
        let announced = range.length();
        Self {
            response,
            from: range.from,
            length: Some(asked.length.map_or(announced, |asked| asked.min(announced))),
            total: range.total,
            is_whole: false,
            idle,
        }
    }

    /// With the length that is known from elsewhere, where none was announced.
    pub(crate) fn of_length(mut self, known: Option<u64>) -> Self {
        self.length = self.length.or(known);
        self
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The size of the whole file, where the server says so.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The first bytes, and whether the body ended with them. The rest is not read.
    pub(crate) async fn beginning(self, length: u64) -> Result<(Bytes, bool), Problem> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut bytes = BytesMut::new();
        let mut body = self.into_body();
        while bytes.len() < length {
            let Some(chunk) = body.next().await? else {
                return Ok((bytes.freeze(), true));
            };
            bytes.extend_from_slice(&chunk);
        }
        bytes.truncate(length);
        Ok((bytes.freeze(), false))
    }

    pub(crate) fn into_body(self) -> Body {
        Body {
            from: self.from,
            total: self.total,
            bytes: Box::pin(Counted {
                bytes: Box::pin(self.response.bytes_stream()),
                received: 0,
                expected: self.length,
                idle: self.idle,
                is_over: false,
            }),
        }
    }
}

/// A body that has arrived.
pub(crate) fn here(from: u64, total: Option<u64>, bytes: Bytes) -> Body {
    Body {
        from,
        total,
        bytes: Box::pin(Here(bytes)),
    }
}

struct Here(Bytes);

impl Stream for Here {
    type Item = Result<Bytes, Problem>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let bytes = mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
    }
}

/// Exactly the bytes that are expected.
struct Counted<S> {
    bytes: Pin<Box<S>>,
    received: u64,
    expected: Option<u64>,
    idle: Duration,
    is_over: bool,
}

impl<S> Counted<S> {
    fn missing(&self) -> Option<u64> {
        Some(self.expected?.saturating_sub(self.received))
    }

    fn take(&mut self, mut chunk: Bytes) -> Bytes {
        if let Some(missing) = self.missing() {
            chunk.truncate(usize::try_from(missing).unwrap_or(usize::MAX));
        }
        self.received += chunk.len() as u64;
        chunk
    }

    fn failure(&self, error: &reqwest::Error) -> Problem {
        if error.is_timeout() {
            Problem::Timeout {
                waiting: Waiting::More,
                limit: self.idle,
            }
        } else {
            self.cut()
        }
    }

    fn cut(&self) -> Problem {
        Problem::Cut {
            received: self.received,
            expected: self.expected,
        }
    }
}

impl<S: Stream<Item = reqwest::Result<Bytes>>> Stream for Counted<S> {
    type Item = Result<Bytes, Problem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over || self.missing() == Some(0) {
            return Poll::Ready(None);
        }
        let item = match ready!(self.bytes.as_mut().poll_next(context)) {
            Some(Ok(chunk)) => return Poll::Ready(Some(Ok(self.take(chunk)))),
            Some(Err(error)) => Some(Err(self.failure(&error))),
            None => self.missing().map(|_| Err(self.cut())),
        };
        self.is_over = true;
        Poll::Ready(item)
    }
}
