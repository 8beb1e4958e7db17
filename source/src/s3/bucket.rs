//! The requests that are made of a bucket.

use std::error::Error;
use std::future::Future;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::{ChecksumMode, ChecksumType, StorageClass};
use aws_smithy_types::base64;
use reprise_contract::Digest;
use tokio::sync::OnceCell;

use super::connect::Connection;
use super::failure::Failure;
use super::listing::{Listed, Listing};
use super::problem::{Action, S3Problem};
use super::settings::S3Settings;
use crate::error::Problem;
use crate::guard::Access;
use crate::http::client::Patience;
use crate::remote::{RemoteFile, Span};

/// A bucket that requests can be sent to.
pub(super) struct Bucket {
    name: String,
    first: Connection,
    /// To the region that the store named, if it named another one.
    moved: OnceCell<Connection>,
    patience: Patience,
}

/// What the head of an object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) size: Option<u64>,
    pub(super) tag: Option<String>,
    pub(super) version_id: Option<String>,
    pub(super) sha256: Option<Digest>,
    pub(super) is_archived: bool,
}

impl Bucket {
    pub(super) async fn connect(
        name: &str,
        settings: &S3Settings,
        access: &Access,
        patience: Patience,
    ) -> Result<Self, Problem> {
        let connection = Connection::new(settings, access, &patience).await?;
        Ok(Self::over(name, connection, patience))
    }

    pub(super) fn over(name: &str, connection: Connection, patience: Patience) -> Self {
        Self {
            name: name.to_owned(),
            first: connection,
            moved: OnceCell::new(),
            patience,
        }
    }

    pub(super) async fn head(&self, key: &str, version_id: Option<&str>) -> Result<Object, Failure> {
        let head = self
            .ask(|client| {
                client
                    .head_object()
                    .bucket(&self.name)
                    .key(key)
                    .set_version_id(version_id.map(ToOwned::to_owned))
                    .checksum_mode(ChecksumMode::Enabled)
                    .send()
            })
            .await?;
        Ok(Object::from(&head))
    }

    /// All files below a prefix, in the order of keys.
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<Listed>, Failure> {
        let mut listing = Listing::default();
        let mut next = None;
        loop {
            let page = self
                .ask(|client| {
                    client
                        .list_objects_v2()
                        .bucket(&self.name)
                        .prefix(prefix)
                        .set_continuation_token(next.clone())
                        .send()
                })
                .await?;
            listing.add(page.contents()).map_err(Failure::from)?;
            next = page.next_continuation_token().map(ToOwned::to_owned);
            match (page.is_truncated(), &next) {
                (Some(true), Some(_)) => {}
                (Some(true), None) => return Err(S3Problem::NotS3.into()),
                _ => return Ok(listing.into_sorted()),
            }
        }
    }

    /// A part of an object, if it is still what was found.
    pub(super) async fn get(
        &self,
        file: &RemoteFile,
        version_id: Option<&str>,
        span: Span,
    ) -> Result<GetObjectOutput, Failure> {
        // An empty object has no part, not even from 0 on.
        let range = (file.size != Some(0)).then(|| range(span)).flatten();
        self.ask(|client| {
            client
                .get_object()
                .bucket(&self.name)
                .key(&file.location)
                .set_version_id(version_id.map(ToOwned::to_owned))
                .set_if_match(file.tag.clone())
                // Whoever takes the bytes hashes them all the same.
                .set_checksum_mode(file.sha256.is_none().then_some(ChecksumMode::Enabled))
                .set_range(range.clone())
                .send()
        })
        .await
    }

    /// Why an object cannot be had. Answers to HEAD have no body and so no reason; the same asked by GET has one.
    pub(super) async fn explain(
        &self,
        key: &str,
        version_id: Option<&str>,
        failure: Failure,
        action: Action,
    ) -> Problem {
        if let Failure::Problem(problem) = failure {
            return problem;
        }
        let asked = self
            .ask(|client| {
                client
                    .get_object()
                    .bucket(&self.name)
                    .key(key)
                    .set_version_id(version_id.map(ToOwned::to_owned))
                    .range("bytes=0-0")
                    .send()
            })
            .await;
        let reason = match asked {
            Err(refusal @ Failure::Refusal(_)) => refusal,
            Err(Failure::Problem(_)) | Ok(_) => failure,
        };
        self.problem(reason, action)
    }

    pub(super) fn problem(&self, failure: Failure, action: Action) -> Problem {
        failure.into_problem(action, self.connection())
    }

    fn connection(&self) -> &Connection {
        self.moved.get().unwrap_or(&self.first)
    }

    /// Sends a request, and once more to where the bucket is if the store says that it is elsewhere.
    async fn ask<T, E, F>(&self, request: impl Fn(&Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + Error + 'static,
    {
        let connection = self.connection();
        let failure = match request(&connection.client).await {
            Ok(answer) => return Ok(answer),
            Err(error) => Failure::of(error, &self.patience),
        };
        let Some(region) = failure.elsewhere(&connection.region) else {
            return Err(failure);
        };
        if self.moved.initialized() {
            return Err(failure);
        }
        let moved = self
            .moved
            .get_or_init(|| async { self.first.moved_to(region) })
            .await;
        request(&moved.client)
            .await
            .map_err(|error| Failure::of(error, &self.patience))
    }
}

impl From<&HeadObjectOutput> for Object {
    fn from(head: &HeadObjectOutput) -> Self {
        Self {
            size: head.content_length().and_then(|size| u64::try_from(size).ok()),
            tag: head.e_tag().map(ToOwned::to_owned),
            version_id: head.version_id().map(ToOwned::to_owned),
            sha256: sha256(head),
            is_archived: is_archived(head),
        }
    }
}

/// The checksum of the whole object. That of one in several parts is a digest of digests, which says nothing to us.
fn sha256(head: &HeadObjectOutput) -> Option<Digest> {
    if head.checksum_type() == Some(&ChecksumType::Composite) {
        return None;
    }
    let bytes = base64::decode(head.checksum_sha256()?).ok()?;
    Some(Digest::from_bytes(bytes.try_into().ok()?))
}

/// Whether it has to be restored before it can be read. One that was restored says so.
fn is_archived(head: &HeadObjectOutput) -> bool {
    let in_archive = head.archive_status().is_some()
        || matches!(
            head.storage_class(),
            Some(StorageClass::Glacier | StorageClass::DeepArchive)
        );
    let is_restored = head
        .restore()
        .is_some_and(|restore| restore.contains("ongoing-request=\"false\""));
    in_archive && !is_restored
}

/// The value of a `Range` header; `None` for the whole.
fn range(span: Span) -> Option<String> {
    match (span.from, span.length) {
        (0, None) => None,
        (from, None) => Some(format!("bytes={from}-")),
        (from, Some(length)) => {
            let last = from.saturating_add(length).saturating_sub(1);
            Some(format!("bytes={from}-{last}"))
        }
    }
}
