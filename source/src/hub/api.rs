//! The hub's API: what is there, and who may read it.

use hf_hub::{HFClient, HFError};
use http::header::{AUTHORIZATION, LINK};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use reqwest::{Client, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::git::is_commit;
use super::listing::{Entry, next_page};
use super::problem::{HubProblem, MissingRepository};
use super::refusal::Refusal;
use super::settings::HubSettings;
use super::token::Token;
use crate::error::{Problem, Waiting};
use crate::http::client::{Patience, USER_AGENT, client};
use crate::http::failure::{Attempts, Failure};
use crate::http::is_overload;
use crate::http::retry::retry_after;
use crate::reference::{HubPath, RepoKind};

/// A page of a listing has a thousand entries of a few hundred bytes.
const LONGEST_ANSWER: usize = 8 << 20;
const MOST_FILES: usize = 500_000;
/// hf-hub looks for a token by itself when it is given none. No header can hold this one, so it sends none (see
/// `auth_headers` in its `client.rs`).
const NO_TOKEN: &str = "\n";

/// The calls for one repository.
pub(super) struct Api {
    pub(super) path: HubPath,
    pub(super) endpoint: Url,
    pub(super) token: Option<Token>,
    pub(super) patience: Patience,
    client: Client,
    hf_hub: HFClient,
}

/// A revision, resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) commit: String,
    /// Whether its publisher decides who may read the files. What the API says of them is open to all.
    pub(super) is_gated: bool,
}

impl Api {
    pub(super) fn new(path: HubPath, settings: &HubSettings, patience: Patience) -> Result<Self, Problem> {
        let client = client(&settings.access, &settings.endpoint, &patience)?;
        // All that hf-hub would otherwise take from the environment is given. Its calls go through the client that it is
        // given, except HEAD requests, of which we make none. It makes one attempt: when to make another is our rule.
        let hf_hub = HFClient::builder()
            .endpoint(settings.endpoint.as_str())
            .token(settings.token.as_ref().map_or(NO_TOKEN, Token::expose))
            .user_agent(USER_AGENT)
            .cache_dir(settings.cache())
            .cache_enabled(false)
            .client(client.clone())
            .retry_max_attempts(0)
            .build()
            .map_err(|_| HubProblem::Endpoint)?;
        Ok(Self {
            path,
            endpoint: settings.endpoint.clone(),
            token: settings.token.clone(),
            patience,
            client,
            hf_hub,
        })
    }

    /// The commit that a revision stands for now.
    pub(super) async fn pin(&self, revision: &str) -> Result<Pinned, Problem> {
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            match self.info(self.path.kind(), revision).await {
                Ok(pinned) => return Ok(pinned),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// The same reference with the kind of repository that there is, for somebody who confused them.
    pub(super) async fn other_kind(&self) -> Option<String> {
        let kinds = [RepoKind::Dataset, RepoKind::Model, RepoKind::Space];
        for kind in kinds.into_iter().filter(|kind| *kind != self.path.kind()) {
            let revision = self.path.revision().unwrap_or("main");
            if self.info(kind, revision).await.is_ok() {
                return Some(self.path.as_kind(kind).to_string());
            }
        }
        None
    }

    async fn info(&self, kind: RepoKind, revision: &str) -> Result<Pinned, Failure> {
        let (owner, name) = (self.path.owner(), self.path.name());
        // No more than what is needed: the whole answer lists all files.
        let properties = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let answer = match kind {
            RepoKind::Dataset => {
                let call = self.hf_hub.dataset(owner, name);
                let call = call
                    .info()
                    .revision(revision)
                    .expand(properties(&["sha", "gated"]));
                call.send().await.map(|info| (info.sha, info.gated))
            }
            RepoKind::Model => {
                let call = self.hf_hub.model(owner, name);
                let call = call
                    .info()
                    .revision(revision)
                    .expand(properties(&["sha", "gated"]));
                call.send().await.map(|info| (info.sha, info.gated))
            }
            RepoKind::Space => {
                let call = self.hf_hub.space(owner, name);
                let call = call.info().revision(revision).expand(properties(&["sha"]));
                call.send().await.map(|info| (info.sha, None))
            }
        };
        let (commit, gated) = answer.map_err(|error| self.failure(error))?;
        match commit {
            Some(commit) if is_commit(&commit) => Ok(Pinned {
                commit: commit.to_ascii_lowercase(),
                is_gated: !matches!(gated, None | Some(Value::Null | Value::Bool(false))),
            }),
            _ => Err(Failure::Final(HubProblem::Answer.into())),
        }
    }

    /// Whether a gated repository's files may be read. Otherwise only reading one would tell.
    pub(super) async fn check_access(&self) -> Result<(), Problem> {
        match self.get(self.url("api", &["auth-check"])).await {
            // Not found: by a mirror that does not know this call.
            Ok(_) | Err(Problem::Hub(HubProblem::RepositoryNotFound(_))) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// What a path of a commit is, if it is anything.
    ///
    /// hf-hub has this call and the next, and reads from neither the hash of a file in large file storage: see [`Entry`].
    pub(super) async fn entry(&self, commit: &str, path: &str) -> Result<Option<Entry>, Problem> {
        let url = self.url("api", &["paths-info", commit]);
        let body = serde_json::json!({ "paths": [path] }).to_string();
        let ask = || {
            self.client
                .post(url.clone())
                .header("content-type", "application/json")
                .body(body.clone())
        };
        let (entries, _) = self.ask::<Vec<Entry>>(ask).await?;
        Ok(entries.into_iter().find(|entry| entry.path() == Some(path)))
    }

    /// All files and folders below a folder of a commit, at any depth.
    ///
    /// hf-hub's own call follows the links from page to page to any host, with the token, and does not tell why the hub
    /// refused.
    pub(super) async fn tree(&self, commit: &str, folder: &str) -> Result<Vec<Entry>, Problem> {
        let mut segments = vec!["tree", commit];
        segments.extend(folder.split('/').filter(|segment| !segment.is_empty()));
        let mut url = self.url("api", &segments);
        url.set_query(Some("recursive=true"));
        let mut entries = Vec::new();
        loop {
            let (page, headers) = self.get_json::<Vec<Entry>>(url.clone()).await?;
            let is_empty = page.is_empty();
            entries.extend(page);
            let next = headers.get(LINK).and_then(|link| next_page(link.to_str().ok()?));
            match next {
                None => return Ok(entries),
                // It would never end.
                Some(query) if is_empty || url.query() == Some(&query) => {
                    return Err(HubProblem::Answer.into());
                }
                Some(_) if entries.len() > MOST_FILES => {
                    return Err(HubProblem::TooManyFiles(MOST_FILES).into());
                }
                Some(query) => url.set_query(Some(&query)),
            }
        }
    }

    /// `{endpoint}/{area}/{kind}/{owner}/{name}/{segments}`, each segment encoded; a slash in one, too.
    pub(super) fn url(&self, area: &str, segments: &[&str]) -> Url {
        let mut url = self.endpoint.clone();
        // Models have no folder of their own outside of the API.
        let kind = Some(self.path.kind()).filter(|kind| area == "api" || *kind != RepoKind::Model);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(Some(area).filter(|area| !area.is_empty()))
                .extend(kind.map(RepoKind::plural))
                .extend([self.path.owner(), self.path.name()])
                .extend(segments);
        }
        url
    }

    async fn get(&self, url: Url) -> Result<Response, Problem> {
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            match self.send(self.client.get(url.clone())).await {
                Ok(response) => return Ok(response),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    async fn get_json<T: DeserializeOwned>(&self, url: Url) -> Result<(T, HeaderMap), Problem> {
        self.ask(|| self.client.get(url.clone())).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<(T, HeaderMap), Problem> {
        let mut attempts = Attempts::new(self.patience.retry);
        loop {
            let answer = match self.send(request()).await {
                Ok(response) => self.json(response).await,
                Err(failure) => Err(failure),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// One attempt. The token goes to the endpoint; the client takes it off when it is redirected to another host.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.bearer()),
            None => request,
        };
        let response = request
            .send()
            .await
            .map_err(|error| Failure::before_answer(error, &self.patience))?;
        let status = response.status();
        if status.is_success() {
            Ok(response)
        } else {
            Err(self.refused(status, response.headers()))
        }
    }

    async fn json<T: DeserializeOwned>(&self, mut response: Response) -> Result<(T, HeaderMap), Failure> {
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(error))? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(Failure::Final(HubProblem::Answer.into()));
            }
            body.extend_from_slice(&chunk);
        }
        let value = serde_json::from_slice(&body).map_err(|_| Failure::Final(HubProblem::Answer.into()))?;
        Ok((value, headers))
    }

    /// A body that broke on its way.
    fn broken(&self, error: reqwest::Error) -> Failure {
        let problem = if error.is_timeout() {
            Problem::Timeout {
                waiting: Waiting::More,
                limit: self.patience.idle,
            }
        } else {
            Problem::Connection(error.without_url())
        };
        Failure::Passing(problem)
    }

    /// An answer that is not what was asked for.
    pub(super) fn refused(&self, status: StatusCode, headers: &HeaderMap) -> Failure {
        if is_overload(status) {
            return Failure::Overload {
                status,
                retry_after: retry_after(headers, Timestamp::now()),
            };
        }
        Failure::Final(self.problem(Refusal::of_headers(status, headers)))
    }

    fn problem(&self, refusal: Refusal) -> Problem {
        let origin = self.token.as_ref().map(|token| token.origin().clone());
        let problem = match (refusal, origin) {
            (Refusal::NoRepository, token) => HubProblem::RepositoryNotFound(MissingRepository {
                kind: self.path.kind(),
                instead: None,
                token,
            }),
            (Refusal::NoRevision, _) => HubProblem::RevisionNotFound,
            (Refusal::NoEntry, _) => HubProblem::PathNotFound,
            (Refusal::Disabled, _) => HubProblem::Disabled,
            (Refusal::Gated, None) => HubProblem::Gated,
            (Refusal::Gated, Some(origin)) => HubProblem::NotYetGranted(origin),
            (Refusal::BadToken, Some(origin)) => HubProblem::TokenRejected(origin),
            (Refusal::Forbidden, Some(origin)) => HubProblem::Forbidden(origin),
            (Refusal::BadToken | Refusal::Forbidden, None) => HubProblem::LoginNeeded,
            (Refusal::Other(status), _) if status.is_redirection() => return Problem::Redirect,
            (Refusal::Other(_), _) => HubProblem::Answer,
        };
        problem.into()
    }

    /// What hf-hub calls an error.
    fn failure(&self, error: HFError) -> Failure {
        match error {
            HFError::Request { source, .. } if is_not_json(&source) => {
                Failure::Final(HubProblem::Answer.into())
            }
            HFError::Request { source, .. } if source.is_decode() || source.is_body() => self.broken(source),
            HFError::Request { source, .. } => Failure::before_answer(source, &self.patience),
            HFError::RateLimited { retry_after, context } => Failure::Overload {
                status: context.status,
                retry_after,
            },
            HFError::Http { context } if is_overload(context.status) => Failure::Overload {
                status: context.status,
                retry_after: None,
            },
            HFError::AuthRequired { context }
            | HFError::Forbidden { context }
            | HFError::Conflict { context }
            | HFError::Http { context }
            | HFError::RepoNotFound {
                context: Some(context),
                ..
            }
            | HFError::RevisionNotFound {
                context: Some(context),
                ..
            } => {
                let (code, message) = (context.error_code.as_deref(), context.server_message.as_deref());
                Failure::Final(self.problem(Refusal::of(context.status, code, message)))
            }
            // The other calls' errors, and answers with something else in them than what was asked for.
            _ => Failure::Final(HubProblem::Answer.into()),
        }
    }
}

fn is_not_json(error: &reqwest::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<serde_json::Error>)
}
