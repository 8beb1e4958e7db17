//! The bytes of a file.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_RANGE, ETAG, LOCATION, RANGE};
use http::{HeaderMap, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::Url;

use super::api::Api;
use super::git::BlobName;
use super::problem::HubProblem;
use super::settings::HubSettings;
use crate::error::{Problem, Waiting};
use crate::guard::Access;
use crate::http::client::{MAX_REDIRECTS, Patience, builder};
use crate::http::failure::{Attempts, Failure};
use crate::http::is_overload;
use crate::remote::{Body, RemoteFile, Span};

/// Follows the hub's redirects itself: what the hub says of a file stands on the answer that redirects to the storage, and
/// the storage must not see the token.
pub(super) struct Transfer {
    client: Client,
    access: Access,
}

impl Transfer {
    pub(super) fn new(settings: &HubSettings, patience: &Patience) -> Result<Self, Problem> {
        let client = builder(&settings.access, &settings.endpoint, patience)?
            .redirect(Policy::none())
            .build()
            .map_err(|error| Problem::Client(error.without_url()))?;
        Ok(Self {
            client,
            access: settings.access.clone(),
        })
    }

    pub(super) async fn read(
        &self,
        api: &Api,
        commit: &str,
        file: &RemoteFile,
        span: Span,
    ) -> Result<Body, Problem> {
        if file.size == Some(span.from) {
            return Ok(Body {
                from: span.from,
                total: file.size,
                bytes: Box::pin(Incoming::nothing(api.patience.idle)),
            });
        }
        // What lies after the end is not to be had, the whole file is.
        let span = if file.size.is_some_and(|size| span.from > size) {
            Span::WHOLE
        } else {
            span
        };
        let mut attempts = Attempts::new(api.patience.retry);
        loop {
            match self.attempt(api, commit, file, span).await {
                Ok(body) => return Ok(body),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// From the hub to whatever storage it names: that is signed for a short time only, so each attempt starts anew.
    async fn attempt(&self, api: &Api, commit: &str, file: &RemoteFile, span: Span) -> Result<Body, Failure> {
        let mut segments = vec!["resolve", commit];
        segments.extend(file.location.split('/'));
        let mut url = api.url("", &segments);
        for _ in 0..=MAX_REDIRECTS {
            let is_hub = url.origin() == api.endpoint.origin();
            let response = self.send(api, &url, is_hub, span).await?;
            let (status, headers) = (response.status(), response.headers());
            if is_hub && (status.is_success() || status.is_redirection()) {
                check_version(headers, commit, file)?;
            }
            if status.is_redirection() {
                url = self.next(&url, headers)?;
            } else if status.is_success() {
                return body(response, file, span, api.patience.idle);
            } else if is_hub {
                return Err(gone(api.refused(status, headers)));
            } else if is_overload(status) {
                return Err(api.refused(status, headers));
            } else {
                return Err(Failure::Final(HubProblem::Storage(status).into()));
            }
        }
        Err(Failure::Final(Problem::Redirect))
    }

    async fn send(&self, api: &Api, url: &Url, is_hub: bool, span: Span) -> Result<Response, Failure> {
        // `identity`: what arrives is what is stored.
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(range) = range(span) {
            request = request.header(RANGE, range);
        }
        if let Some(token) = api.token.as_ref().filter(|_| is_hub) {
            request = request.header(AUTHORIZATION, token.bearer());
        }
        request
            .send()
            .await
            .map_err(|error| Failure::before_answer(error, &api.patience))
    }

    fn next(&self, url: &Url, headers: &HeaderMap) -> Result<Url, Failure> {
        let next = headers
            .get(LOCATION)
            .and_then(|location| url.join(location.to_str().ok()?).ok())
            .filter(|next| matches!(next.scheme(), "http" | "https"))
            .ok_or(Failure::Final(Problem::Redirect))?;
        if url.scheme() == "https" && next.scheme() == "http" {
            return Err(Failure::Final(Problem::Downgrade));
        }
        if let Access::Anonymous(rules) = &self.access {
            rules
                .check_url(&next)
                .map_err(|problem| Failure::Final(problem.into()))?;
        }
        Ok(next)
    }
}

/// `None` for the whole file, of which nobody needs a part.
fn range(span: Span) -> Option<String> {
    match span {
        Span {
            from: 0,
            length: None,
        } => None,
        Span { from, length: None } => Some(format!("bytes={from}-")),
        Span {
            from,
            length: Some(length),
        } => Some(format!("bytes={from}-{}", from + length.saturating_sub(1))),
    }
}

/// Whether the hub still means the same by this path as when it was pinned, as far as it says.
fn check_version(headers: &HeaderMap, commit: &str, file: &RemoteFile) -> Result<(), Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let blob = match text("x-linked-etag") {
        Some(tag) => Some(BlobName::of_etag(tag).map(|blob| blob.to_string())),
        // In front of the hub others may put tags of their own.
        None => text(ETAG.as_str())
            .and_then(BlobName::of_etag)
            .map(|blob| Some(blob.to_string())),
    };
    let size = text("x-linked-size").and_then(|size| size.parse::<u64>().ok());
    let is_other = text("x-repo-commit").is_some_and(|found| !found.eq_ignore_ascii_case(commit))
        || blob.is_some_and(|blob| blob != file.tag)
        || matches!((size, file.size), (Some(found), Some(pinned)) if found != pinned);
    if is_other {
        Err(Failure::Final(Problem::Changed))
    } else {
        Ok(())
    }
}

/// What was there when it was pinned.
fn gone(failure: Failure) -> Failure {
    match failure {
        Failure::Final(Problem::Hub(
            HubProblem::RevisionNotFound | HubProblem::PathNotFound | HubProblem::RepositoryNotFound(_),
        )) => Failure::Final(Problem::Changed),
        other => other,
    }
}

fn body(response: Response, file: &RemoteFile, span: Span, idle: Duration) -> Result<Body, Failure> {
    let headers = response.headers();
    let encoding = headers.get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        return Err(Failure::Final(Problem::Encoding));
    }
    let length = response.content_length();
    let (from, total, expected) = if response.status() == StatusCode::PARTIAL_CONTENT {
        let part = headers
            .get(CONTENT_RANGE)
            .and_then(|value| Part::parse(value.to_str().ok()?))
            .filter(|part| part.is_of(span) && length.is_none_or(|length| length == part.length()))
            .ok_or(Failure::Final(HubProblem::Answer.into()))?;
        (part.first, part.total, Some(part.length()))
    } else {
        (0, length.or(file.size), length.or(file.size))
    };
    if matches!((total, file.size), (Some(found), Some(pinned)) if found != pinned) {
        return Err(Failure::Final(Problem::Changed));
    }
    Ok(Body {
        from,
        total,
        bytes: Box::pin(Incoming {
            bytes: Some(Box::pin(response.bytes_stream())),
            received: 0,
            expected,
            idle,
        }),
    })
}

/// `bytes {first}-{last}/{total}`
struct Part {
    first: u64,
    last: u64,
    total: Option<u64>,
}

impl Part {
    fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        let total = match total {
            "*" => None,
            total => Some(total.parse().ok()?),
        };
        (first <= last && total.is_none_or(|total| last < total)).then_some(Self { first, last, total })
    }

    fn length(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Whether it is what was asked for: less only where the file ends.
    fn is_of(&self, span: Span) -> bool {
        let ends = self.total.is_none_or(|total| self.last + 1 == total);
        self.first == span.from
            && match span.length {
                None => ends,
                Some(length) => self.length() == length || (self.length() < length && ends),
            }
    }
}

type Stored = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// What arrives, counted.
struct Incoming {
    /// `None` once there is no more.
    bytes: Option<Stored>,
    received: u64,
    /// Where it was announced, or is known from the listing.
    expected: Option<u64>,
    idle: Duration,
}

impl Incoming {
    fn nothing(idle: Duration) -> Self {
        Self {
            bytes: None,
            received: 0,
            expected: None,
            idle,
        }
    }

    fn broken(&self, cause: reqwest::Error) -> Problem {
        if cause.is_timeout() {
            return Problem::Timeout {
                waiting: Waiting::More,
                limit: self.idle,
            };
        }
        Problem::Cut {
            received: self.received,
            expected: self.expected,
        }
    }

    /// A connection that simply ends may have ended too early.
    fn end(&self) -> Option<Problem> {
        let is_short = self.expected.is_some_and(|expected| expected > self.received);
        is_short.then_some(Problem::Cut {
            received: self.received,
            expected: self.expected,
        })
    }
}

impl Stream for Incoming {
    type Item = Result<Bytes, Problem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(bytes) = &mut self.bytes else {
            return Poll::Ready(None);
        };
        let next = match ready!(bytes.as_mut().poll_next(context)) {
            Some(Ok(chunk)) => {
                self.received += chunk.len() as u64;
                return Poll::Ready(Some(Ok(chunk)));
            }
            Some(Err(cause)) => Some(self.broken(cause)),
            None => self.end(),
        };
        self.bytes = None;
        Poll::Ready(next.map(Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, length: Option<u64>) -> Span {
        Span { from, length }
    }

    #[test]
    fn parts_are_asked_for_by_their_ends() {
        assert_eq!(range(Span::WHOLE), None);
        assert_eq!(range(span(0, Some(10))).as_deref(), Some("bytes=0-9"));
        assert_eq!(range(span(7, None)).as_deref(), Some("bytes=7-"));
        assert_eq!(range(span(7, Some(1))).as_deref(), Some("bytes=7-7"));
    }

    #[test]
    fn a_part_is_what_was_asked_for_or_nothing() {
        let is_of = |text: &str, span| Part::parse(text).is_some_and(|part| part.is_of(span));
        assert!(is_of("bytes 7-9/10", span(7, None)));
        assert!(is_of("bytes 7-9/*", span(7, None)));
        assert!(is_of("bytes 0-4/10", span(0, Some(5))));
        assert!(is_of("bytes 8-9/10", span(8, Some(5))));
        for (text, span) in [
            ("bytes 0-9/10", span(7, None)),
            ("bytes 7-8/10", span(7, None)),
            ("bytes 0-5/10", span(0, Some(5))),
            ("bytes 0-3/10", span(0, Some(5))),
            ("bytes 9-7/10", span(9, None)),
            ("bytes 7-10/10", span(7, None)),
            ("bytes */10", span(7, None)),
            ("items 7-9/10", span(7, None)),
            ("", span(7, None)),
        ] {
            assert!(!is_of(text, span), "{text} {span:?}");
        }
    }
}
