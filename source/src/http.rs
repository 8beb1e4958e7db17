//! Files on HTTP servers.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod failure;
mod head;
pub(crate) mod headers;
pub(crate) mod names;
pub(crate) mod retry;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::header::{ACCEPT_ENCODING, HeaderName, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use reqwest::{Client, Response};
use url::Url;

use crate::error::Problem;
use crate::guard::Access;
use crate::reference::HttpUrl;
use crate::remote::{Body, Found, Remote, RemoteFile, Shape, Span};
use crate::version::Version;
use body::Part;
use client::{Patience, client};
use failure::{Attempts, Failure};
use head::Head;
use headers::{ContentRange, contradicts, has_usable_encoding, if_range, range};
use retry::retry_after;

/// A URL. It is asked for with `GET` and nothing else, since a presigned URL allows nothing else.
///
/// The access check asks for the beginning of the file, whose headers tell all that `HEAD` would. It is kept: reading no
/// further costs no second request.
pub(crate) struct HttpSource {
    url: HttpUrl,
    client: Client,
    patience: Patience,
    known: Option<Version>,
    /// By the location of the file.
    heads: Mutex<HashMap<String, Head>>,
}

/// A header that makes a server look at the version first.
type Condition = (HeaderName, HeaderValue);

/// What one `GET` led to.
enum Answer {
    Part(Part),
    /// Still the version that the condition names.
    NotModified,
    /// There is no such part, or the server sends another one.
    WrongPart,
}

impl HttpSource {
    /// `known` is the newest version that is kept on this machine. While it is still there, the access check costs no
    /// body.
    ///
    /// # Errors
    ///
    /// When the URL may not be reached, or when the HTTP client cannot be set up.
    pub(crate) fn new(url: HttpUrl, access: &Access, known: Option<Version>) -> Result<Self, Problem> {
        Self::with_patience(url, access, known, Patience::of(access))
    }

    fn with_patience(
        url: HttpUrl,
        access: &Access,
        known: Option<Version>,
        patience: Patience,
    ) -> Result<Self, Problem> {
        Ok(Self {
            client: client(access, url.with_credentials(), &patience)?,
            url,
            patience,
            known,
            heads: Mutex::default(),
        })
    }

    /// Asks for the beginning of a file, and keeps it. `None` if it is still the version that the condition names.
    async fn head(&self, location: &str, condition: Option<Condition>) -> Result<Option<Head>, Problem> {
        let url = self.url_of(location);
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            match self.try_head(&url, condition.as_ref()).await {
                Ok(Some(head)) => {
                    self.heads().insert(location.to_owned(), head.clone());
                    return Ok(Some(head));
                }
                Ok(None) => return Ok(None),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    async fn try_head(&self, url: &Url, condition: Option<&Condition>) -> Result<Option<Head>, Failure> {
        match self.ask(url, Head::SPAN, condition).await? {
            Answer::Part(part) => Head::receive(part).await.map(Some).map_err(Failure::Passing),
            Answer::NotModified => Ok(None),
            Answer::WrongPart => Err(no_part()),
        }
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<String, Head>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part of a file, or all of it from a server that does not send this part.
    async fn part(&self, location: &str, span: Span, condition: Option<Condition>) -> Result<Part, Problem> {
        let url = self.url_of(location);
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            let failure = match self.ask(&url, span, condition.as_ref()).await {
                Ok(Answer::Part(part)) => return Ok(part),
                Ok(Answer::NotModified | Answer::WrongPart) => no_part(),
                Err(failure) => failure,
            };
            attempts.after(failure).await?;
        }
    }

    /// Asks once, and once more for all of the file if the server does not send the part.
    async fn ask(&self, url: &Url, span: Span, condition: Option<&Condition>) -> Result<Answer, Failure> {
        if span != Span::WHOLE {
            let answer = self.get(url, Some(span), condition).await?;
            if !matches!(answer, Answer::WrongPart) {
                return Ok(answer);
            }
        }
        self.get(url, None, condition).await
    }

    async fn get(
        &self,
        url: &Url,
        span: Option<Span>,
        condition: Option<&Condition>,
    ) -> Result<Answer, Failure> {
        // `identity`: what arrives is what is stored, and its length and digest mean something.
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(span) = span {
            request = request.header(RANGE, range(span));
        }
        if let Some((name, value)) = condition {
            request = request.header(name, value);
        }
        let response = request
            .send()
            .await
            .map_err(|error| Failure::before_answer(error, &self.patience))?;
        let may_be_known = condition.is_some_and(|(name, _)| name == IF_NONE_MATCH);
        match (response.status(), span) {
            (StatusCode::OK, _) => {
                check_is_file(&response)?;
                Ok(Answer::Part(Part::whole(response, self.patience.idle)))
            }
            (StatusCode::PARTIAL_CONTENT, Some(span)) => {
                check_is_file(&response)?;
                let part = ContentRange::of(response.headers()).filter(|part| part.from == span.from);
                Ok(part.map_or(Answer::WrongPart, |part| {
                    Answer::Part(Part::of_range(response, part, span, self.patience.idle))
                }))
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => Ok(Answer::WrongPart),
            (StatusCode::NOT_MODIFIED, _) if may_be_known => Ok(Answer::NotModified),
            (status, _) if is_overload(status) => Err(Failure::Overload {
                status,
                retry_after: retry_after(response.headers(), Timestamp::now()),
            }),
            (status, _) => Err(Failure::Final(self.refusal(status, Timestamp::now()))),
        }
    }

    /// What an answer without a file means. Google says 400 where others say 403 of an expired URL.
    fn refusal(&self, status: StatusCode, now: Timestamp) -> Problem {
        let expiry = self.url.expiry().filter(|expiry| *expiry < now);
        match (status, expiry) {
            (StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(expiry)) => {
                Problem::Expired { status, expiry }
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => Problem::AccessDenied(status),
            (StatusCode::NOT_FOUND | StatusCode::GONE, _) => Problem::NotFound(status),
            _ => Problem::Status(status),
        }
    }

    /// A location is the last segment of the path as it is sent, or nothing for the URL itself.
    fn url_of(&self, location: &str) -> Url {
        let mut url = self.url.with_credentials().clone();
        if !location.is_empty() {
            let folder = url.path().strip_suffix(self.segment()).unwrap_or_default();
            let path = format!("{folder}{location}");
            url.set_path(&path);
        }
        url
    }

    fn segment(&self) -> &str {
        let path = self.url.with_credentials().path();
        path.rsplit_once('/').map_or(path, |(_, segment)| segment)
    }

    fn name(&self) -> String {
        percent_decode_str(self.segment())
            .decode_utf8_lossy()
            .into_owned()
    }
}

impl Remote for HttpSource {
    async fn look_up(&self) -> Result<Found, Problem> {
        // A date is no condition: many servers take an older file under the same name for an unchanged one.
        let condition = match &self.known {
            Some(Version::ETag(tag)) => HeaderValue::from_str(tag).ok().map(|tag| (IF_NONE_MATCH, tag)),
            _ => None,
        };
        let (version, size) = match self.head("", condition).await? {
            Some(head) => (head.version, head.size),
            None => (self.known.clone(), None),
        };
        Ok(Found {
            shape: Shape::File(file(self.name(), String::new(), version.as_ref(), size)),
            version,
            canonical: None,
        })
    }

    async fn beside(&self, _: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        if self.url.with_credentials().query().is_some() {
            return Ok(None);
        }
        let location = match name.strip_prefix(&self.name()) {
            Some(suffix) => format!("{}{suffix}", self.segment()),
            None => utf8_percent_encode(name, NON_ALPHANUMERIC).to_string(),
        };
        match self.head(&location, None).await {
            Ok(head) => {
                Ok(head.map(|head| file(name.to_owned(), location, head.version.as_ref(), head.size)))
            }
            // Stores that do not let everyone list them say 403 of what is not there.
            Err(Problem::NotFound(_) | Problem::AccessDenied(StatusCode::FORBIDDEN)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    async fn read(&self, found: &Found, file: &RemoteFile, span: Span) -> Result<Body, Problem> {
        let head = self.heads().get(&file.location).cloned();
        // A file beside the one that is meant has a version of its own.
        let version = if file.location.is_empty() {
            found.version.as_ref()
        } else {
            head.as_ref().and_then(|head| head.version.as_ref())
        };
        let kept = head.as_ref().filter(|head| head.version.as_ref() == version);
        if let Some(body) = kept.and_then(|head| head.body(span)) {
            return Ok(body);
        }
        let condition = version
            .filter(|_| span.from > 0)
            .and_then(if_range)
            .map(|validator| (IF_RANGE, validator));
        let is_bound = condition.is_some();
        let part = self.part(&file.location, span, condition).await?;
        let is_bound = is_bound && !part.is_whole();
        match version {
            Some(version) if contradicts(version, part.headers(), part.total(), is_bound) => {
                Err(Problem::Changed)
            }
            _ => Ok(part.into_body()),
        }
    }
}

fn file(name: String, location: String, version: Option<&Version>, size: Option<u64>) -> RemoteFile {
    RemoteFile {
        name,
        location,
        size,
        sha256: None,
        tag: match version {
            Some(Version::ETag(tag)) => Some(tag.clone()),
            _ => None,
        },
    }
}

fn check_is_file(response: &Response) -> Result<(), Failure> {
    // A server that was asked for a folder redirects to the same with a slash, and answers with a list of files.
    let url = response.url();
    if url.path().ends_with('/') && url.query().is_none() {
        return Err(Failure::Final(Problem::Folder));
    }
    if !has_usable_encoding(response.headers()) {
        return Err(Failure::Final(Problem::Encoding));
    }
    Ok(())
}

/// The answer to a request for all of a file was that there is no such part.
fn no_part() -> Failure {
    Failure::Final(Problem::Status(StatusCode::RANGE_NOT_SATISFIABLE))
}

/// Whether a server that answers so should be asked again later.
pub(crate) fn is_overload(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}
