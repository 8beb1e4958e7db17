//! Objects in buckets.

mod body;
mod bucket;
mod connect;
mod failure;
mod listing;
mod problem;
mod settings;
#[cfg(test)]
mod tests;

use tokio::sync::OnceCell;

use crate::error::Problem;
use crate::guard::Access;
use crate::http::client::Patience;
use crate::reference::S3Path;
use crate::remote::{Body, Found, Remote, RemoteFile, Shape, Span};
use crate::version::Version;
use bucket::{Bucket, Object};
use failure::{Failure, Reason};
pub use problem::{Action, Caller, CredentialsFault, S3Problem};
pub use settings::{S3Settings, S3SettingsError};

/// An object, or all objects below a prefix.
pub(crate) struct S3Source {
    path: S3Path,
    settings: S3Settings,
    access: Access,
    patience: Patience,
    bucket: OnceCell<Bucket>,
}

impl S3Source {
    pub(crate) fn new(path: S3Path, settings: S3Settings, access: Access) -> Self {
        Self {
            path,
            settings,
            patience: Patience::of(&access),
            access,
            bucket: OnceCell::new(),
        }
    }

    /// The bucket, with credentials if there are any: looked for once.
    async fn bucket(&self) -> Result<&Bucket, Problem> {
        self.bucket
            .get_or_try_init(|| {
                Bucket::connect(self.path.bucket(), &self.settings, &self.access, self.patience)
            })
            .await
    }

    /// What reading the object itself needs.
    fn action(&self) -> Action {
        match self.path.version_id() {
            Some(_) => Action::GetObjectVersion,
            None => Action::GetObject,
        }
    }

    fn found_object(&self, object: Object) -> Result<Found, Problem> {
        if object.is_archived {
            return Err(S3Problem::Archived.into());
        }
        let key = self.path.key();
        // `null` is what objects have that are older than the keeping of versions: it can be overwritten.
        let version_id = object.version_id.filter(|id| id != "null");
        let canonical = version_id
            .as_deref()
            .map(|id| self.path.object(key, Some(id)).to_string());
        let version = version_id
            .map(Version::VersionId)
            .or_else(|| object.tag.clone().map(Version::ETag));
        Ok(Found {
            version,
            canonical,
            shape: Shape::File(RemoteFile {
                name: file_name(key).to_owned(),
                location: key.to_owned(),
                size: object.size,
                sha256: object.sha256,
                tag: object.tag,
            }),
        })
    }

    async fn found_prefix(&self, prefix: &str) -> Result<Found, Problem> {
        let bucket = self.bucket().await?;
        let objects = bucket
            .list(prefix)
            .await
            .map_err(|failure| bucket.problem(failure, Action::ListBucket))?;
        if objects.is_empty() {
            return Err(S3Problem::EmptyPrefix.into());
        }
        let digest = listing::digest(&objects);
        Ok(Found {
            version: Some(Version::Listing(digest)),
            canonical: None,
            shape: Shape::Folder(objects.into_iter().map(|object| object.below(prefix)).collect()),
        })
    }

    /// There is no such object, so it may be a prefix that is written without its slash.
    async fn found_without_slash(&self, absence: Failure) -> Result<Found, Problem> {
        let key = self.path.key();
        let problem = match self.found_prefix(&format!("{key}/")).await {
            Ok(found) => return Ok(found),
            Err(problem) => problem,
        };
        match problem {
            // The store has already said what there is not; that it may not be listed adds nothing.
            Problem::S3(S3Problem::EmptyPrefix | S3Problem::AccessDenied { .. }) => {
                let bucket = self.bucket().await?;
                Err(bucket.explain(key, None, absence, Action::GetObject).await)
            }
            problem => Err(problem),
        }
    }
}

impl Remote for S3Source {
    async fn look_up(&self) -> Result<Found, Problem> {
        let (key, version_id) = (self.path.key(), self.path.version_id());
        if self.path.is_prefix() {
            return self.found_prefix(key).await;
        }
        let bucket = self.bucket().await?;
        match bucket.head(key, version_id).await {
            Ok(object) => self.found_object(object),
            Err(failure) if version_id.is_none() && failure.is_absence() => {
                self.found_without_slash(failure).await
            }
            Err(failure) => Err(bucket.explain(key, version_id, failure, self.action()).await),
        }
    }

    async fn beside(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        let file = match &found.shape {
            Shape::Folder(files) => return Ok(files.iter().find(|file| file.name == name).cloned()),
            Shape::File(file) => file,
        };
        let key = sibling(&file.location, name);
        let bucket = self.bucket().await?;
        match bucket.head(&key, None).await {
            Ok(object) => Ok(Some(RemoteFile {
                name: name.to_owned(),
                location: key,
                size: object.size,
                sha256: object.sha256,
                tag: object.tag,
            })),
            // Whoever may not list a bucket gets 403 for what is not there.
            Err(failure) if failure.is_absence() || failure.is_denial() => Ok(None),
            Err(failure) => Err(bucket.explain(&key, None, failure, Action::GetObject).await),
        }
    }

    async fn read(&self, found: &Found, file: &RemoteFile, span: Span) -> Result<Body, Problem> {
        let version_id = match &found.version {
            Some(Version::VersionId(id)) if file.location == self.path.key() => Some(id.as_str()),
            _ if file.location == self.path.key() => self.path.version_id(),
            _ => None,
        };
        if span.from > 0 && file.size.is_some_and(|size| span.from >= size) {
            return Ok(body::nothing(span.from, file.size));
        }
        let bucket = self.bucket().await?;
        match bucket.get(file, version_id, span).await {
            Ok(part) => body::of_part(part, file, span, self.patience.idle),
            Err(failure) if failure.is_change() => Err(Problem::Changed),
            Err(failure) => {
                let action = version_id.map_or(Action::GetObject, |_| Action::GetObjectVersion);
                Err(bucket.problem(failure, action))
            }
        }
    }
}

fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The key of another object in the same folder.
fn sibling(key: &str, name: &str) -> String {
    let folder = &key[..key.len() - file_name(key).len()];
    format!("{folder}{name}")
}

impl Failure {
    fn is_absence(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if refusal.is_absence())
    }

    fn is_denial(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if refusal.status == http::StatusCode::FORBIDDEN)
    }

    /// After it was there in a certain version: it is now there in another one, or not at all.
    fn is_change(&self) -> bool {
        let Self::Refusal(refusal) = self else {
            return false;
        };
        matches!(
            (refusal.status, refusal.reason),
            (http::StatusCode::PRECONDITION_FAILED, _)
                | (
                    http::StatusCode::NOT_FOUND,
                    None | Some(Reason::NoSuchKey | Reason::NoSuchVersion)
                )
        )
    }
}
