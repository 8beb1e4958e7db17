//! The bytes of a file.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, ETAG, LOCATION, RANGE};
use http::{HeaderMap, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::Url;

use super::api::Api;
use super::git::BlobName;
use super::problem::HubProblem;
use super::settings::HubSettings;
use crate::error::Problem;
use crate::guard::Access;
use crate::http::body::{Part, here};
use crate::http::client::{MAX_REDIRECTS, Patience, builder};
use crate::http::failure::{Attempts, Failure};
use crate::http::headers::{ContentRange, range};
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
            return Ok(here(span.from, file.size, Bytes::new()));
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
        // A file without bytes has no part of any.
        if span.from > 0 || span.length.is_some() {
            request = request.header(RANGE, range(span));
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
    let part = if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = ContentRange::of(headers)
            .filter(|range| is_enough(range, span))
            .ok_or(Failure::Final(HubProblem::Answer.into()))?;
        Part::of_range(response, range, span, idle)
    } else {
        Part::whole(response, idle).of_length(file.size)
    };
    match (part.total(), file.size) {
        (Some(found), Some(pinned)) if found != pinned => Err(Failure::Final(Problem::Changed)),
        _ => Ok(part.into_body()),
    }
}

/// Whether a part is at least what was asked for: less only where the file ends.
fn is_enough(range: &ContentRange, span: Span) -> bool {
    let reaches_end = range
        .total
        .is_none_or(|total| range.from.saturating_add(range.length()) == total);
    range.from == span.from && (reaches_end || span.length.is_some_and(|length| length <= range.length()))
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_RANGE;

    use super::*;

    #[test]
    fn a_part_is_what_was_asked_for_or_nothing() {
        let is_enough = |text: &str, from, length| {
            let headers = HeaderMap::from_iter([(CONTENT_RANGE, text.parse().unwrap())]);
            ContentRange::of(&headers).is_some_and(|range| is_enough(&range, Span { from, length }))
        };
        assert!(is_enough("bytes 7-9/10", 7, None));
        assert!(is_enough("bytes 7-9/*", 7, None));
        assert!(is_enough("bytes 0-4/10", 0, Some(5)));
        assert!(is_enough("bytes 8-9/10", 8, Some(5)));
        // The rest is cut off.
        assert!(is_enough("bytes 0-9/10", 0, Some(5)));
        for (text, from, length) in [
            ("bytes 0-9/10", 7, None),
            ("bytes 7-8/10", 7, None),
            ("bytes 0-3/10", 0, Some(5)),
            ("bytes */10", 7, None),
        ] {
            assert!(!is_enough(text, from, length), "{text} {from} {length:?}");
        }
    }
}
