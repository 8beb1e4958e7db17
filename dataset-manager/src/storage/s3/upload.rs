//! From a file to an object.

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart};
use aws_smithy_types::base64;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use reprise_contract::digest::Digest;

use super::failure::Failure;
use super::problem::{Action, S3Problem};
use super::{Bucket, SHA256};
use crate::storage::StorageProblem;
use crate::storage::files::{Part, ResultFile, digest};
use crate::storage::progress::Meter;

/// Parts that are on their way at the same time; as many are in memory.
const PARTS_AT_ONCE: usize = 4;

/// The SHA-256 that the store is to have computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// Of an object that was put at once.
    Whole(Digest),
    /// Of the parts' digests, and of how many.
    OfParts(Digest, usize),
}

impl Checksum {
    /// Whether `text` is it, as S3 writes it. Not every store says how many parts there were.
    pub(super) fn is(&self, text: &str) -> bool {
        match self {
            Self::Whole(digest) => text == in_base64(*digest),
            Self::OfParts(digest, count) => {
                let digest = in_base64(*digest);
                text == digest || text == format!("{digest}-{count}")
            }
        }
    }
}

/// Why an upload ended before its end.
enum Broken {
    /// The store knows nothing of it any more.
    Forgotten,
    Problem(StorageProblem),
}

impl<P: Into<StorageProblem>> From<P> for Broken {
    fn from(problem: P) -> Self {
        Self::Problem(problem.into())
    }
}

impl Bucket {
    /// Puts a file there. Where the store has forgotten what it was given, that is no error yet: whoever looks will find nothing.
    pub(super) async fn upload(
        &self,
        file: &ResultFile,
        meter: &Meter<'_>,
    ) -> Result<Checksum, StorageProblem> {
        if let [part] = file.parts.as_slice() {
            self.put(file, file.read(*part).await?).await?;
            meter.add(file.bytes);
            return Ok(Checksum::Whole(file.sha256));
        }
        let upload = self.begin(file).await?;
        let finished = match self.put_parts(file, &upload, meter).await {
            Ok(parts) => self.finish(file, &upload, parts).await,
            Err(broken) => Err(broken),
        };
        match finished {
            Ok(()) | Err(Broken::Forgotten) => Ok(checksum_of_parts(&file.parts)),
            Err(Broken::Problem(problem)) => {
                // What went wrong first is what people need to know.
                if let Err(problem) = self.abort(&file.name, &upload).await {
                    tracing::warn!(
                        "Cannot take back the upload of {} to {}: {problem}",
                        file.name,
                        self.folder
                    );
                }
                Err(problem)
            }
        }
    }

    async fn put(&self, file: &ResultFile, content: Bytes) -> Result<(), S3Problem> {
        let request = self.client.put_object().bucket(self.folder.bucket());
        let request = request
            .key(self.folder.key(&file.name))
            .content_type(content_type(&file.name))
            .metadata(SHA256, file.sha256.to_string())
            .checksum_sha256(in_base64(file.sha256))
            .body(ByteStream::from(content));
        request.send().await.map_err(|error| self.refused(&error))?;
        Ok(())
    }

    async fn begin(&self, file: &ResultFile) -> Result<String, S3Problem> {
        let request = self.client.create_multipart_upload().bucket(self.folder.bucket());
        let request = request
            .key(self.folder.key(&file.name))
            .content_type(content_type(&file.name))
            .metadata(SHA256, file.sha256.to_string())
            .checksum_algorithm(ChecksumAlgorithm::Sha256);
        let begun = request.send().await.map_err(|error| self.refused(&error))?;
        begun.upload_id.ok_or(S3Problem::NotS3)
    }

    /// Begins an upload that will have no parts.
    pub(super) async fn begin_check(&self) -> Result<String, S3Problem> {
        let request = self.client.create_multipart_upload().bucket(self.folder.bucket());
        let request = request.key(self.folder.key(crate::storage::SUMMARY_FILE));
        let begun = request.send().await.map_err(|error| self.refused(&error))?;
        begun.upload_id.ok_or(S3Problem::NotS3)
    }

    async fn put_parts(
        &self,
        file: &ResultFile,
        upload: &str,
        meter: &Meter<'_>,
    ) -> Result<Vec<CompletedPart>, Broken> {
        let parts = stream::iter((1..).zip(&file.parts));
        let sent = parts.map(|(number, part)| self.put_part(file, upload, number, *part, meter));
        sent.buffered(PARTS_AT_ONCE).try_collect().await
    }

    async fn put_part(
        &self,
        file: &ResultFile,
        upload: &str,
        number: i32,
        part: Part,
        meter: &Meter<'_>,
    ) -> Result<CompletedPart, Broken> {
        let content = file.read(part).await?;
        let checksum = in_base64(part.sha256);
        let request = self.client.upload_part().bucket(self.folder.bucket());
        let request = request
            .key(self.folder.key(&file.name))
            .upload_id(upload)
            .part_number(number)
            .checksum_sha256(&checksum)
            .body(ByteStream::from(content));
        let sent = request.send().await.map_err(|error| self.broken(&error))?;
        meter.add(u64::try_from(part.bytes).unwrap_or(u64::MAX));
        Ok(CompletedPart::builder()
            .part_number(number)
            .set_e_tag(sent.e_tag)
            .checksum_sha256(checksum)
            .build())
    }

    async fn finish(&self, file: &ResultFile, upload: &str, parts: Vec<CompletedPart>) -> Result<(), Broken> {
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let request = self
            .client
            .complete_multipart_upload()
            .bucket(self.folder.bucket());
        let request = request
            .key(self.folder.key(&file.name))
            .upload_id(upload)
            .multipart_upload(parts);
        request.send().await.map_err(|error| self.broken(&error))?;
        Ok(())
    }

    pub(super) async fn abort(&self, name: &str, upload: &str) -> Result<(), S3Problem> {
        let request = self.client.abort_multipart_upload().bucket(self.folder.bucket());
        let request = request.key(self.folder.key(name)).upload_id(upload);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match Failure::of(&error, self.patience) {
                Failure::NoSuchUpload => Ok(()),
                failure => Err(failure.into_problem(Action::AbortMultipartUpload)),
            },
        }
    }

    fn refused<E: ProvideErrorMetadata>(&self, error: &SdkError<E, HttpResponse>) -> S3Problem {
        Failure::of(error, self.patience).into_problem(Action::PutObject)
    }

    fn broken<E: ProvideErrorMetadata>(&self, error: &SdkError<E, HttpResponse>) -> Broken {
        match Failure::of(error, self.patience) {
            Failure::NoSuchUpload => Broken::Forgotten,
            failure => failure.into_problem(Action::PutObject).into(),
        }
    }
}

/// What S3 computes of an upload in parts.
fn checksum_of_parts(parts: &[Part]) -> Checksum {
    let digests: Vec<u8> = parts.iter().flat_map(|part| *part.sha256.as_bytes()).collect();
    Checksum::OfParts(digest(&digests), parts.len())
}

fn in_base64(digest: Digest) -> String {
    base64::encode(digest.as_bytes())
}

/// So that a report opens where its link is followed.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("json") => "application/json",
        Some("html") => "text/html; charset=utf-8",
        Some("yaml") => "application/yaml",
        Some("parquet") => "application/vnd.apache.parquet",
        _ => "application/octet-stream",
    }
}
