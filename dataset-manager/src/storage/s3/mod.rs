//! Results in a bucket.
//!
//! Small files are put at once, large ones in parts; an object appears whole or not at all. Every request carries the SHA-256 of
//! its body, and its signature covers it. Whether all arrived is asked afterwards.

mod connect;
mod credentials;
mod failure;
mod problem;
mod upload;

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::types::ChecksumMode;
use reprise_crds::{ResultsS3, S3Folder};

use super::files::ResultFile;
use super::progress::Meter;
use super::{AttemptFolder, SUMMARY_FILE, StorageProblem};
pub use credentials::ResultsCredentials;
use failure::Failure;
pub use problem::{Action, S3Problem};
use upload::Checksum;

/// Whole uploads of one file, where the store loses what it was given.
const UPLOADS: u32 = 3;

/// The name under which objects carry the SHA-256 of their content.
const SHA256: &str = "sha256";

/// How long we wait for what, and how often we ask.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a connection, with TLS where there is any.
    connect: Duration,
    /// For the answer to one request, the sending of its body included.
    answer: Duration,
    /// For a request with all its repetitions.
    whole: Duration,
    /// Requests, the first included.
    attempts: u32,
    /// Before the first repetition; doubled before each further one.
    first_pause: Duration,
    longest_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_mins(3),
            whole: Duration::from_mins(10),
            attempts: 10,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
        }
    }
}

/// The folder of an attempt in a bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    folder: S3Folder,
    patience: Patience,
}

impl Bucket {
    pub(super) fn new(
        settings: &ResultsS3,
        credentials: ResultsCredentials,
        attempt: &AttemptFolder,
    ) -> Result<Self, S3Problem> {
        Self::with_patience(settings, credentials, attempt, Patience::default())
    }

    fn with_patience(
        settings: &ResultsS3,
        credentials: ResultsCredentials,
        attempt: &AttemptFolder,
        patience: Patience,
    ) -> Result<Self, S3Problem> {
        let folder = settings.folder().map_err(S3Problem::Folder)?;
        let folder = attempt
            .parts()
            .iter()
            .fold(folder, |folder, part| folder.within(part));
        Ok(Self {
            client: connect::client(settings, credentials, patience)?,
            folder,
            patience,
        })
    }

    pub(super) const fn folder(&self) -> &S3Folder {
        &self.folder
    }

    /// An upload in parts is begun and taken back: whoever may do that may write, and nothing is left.
    pub(super) async fn check(&self) -> Result<(), S3Problem> {
        if self.head(SUMMARY_FILE).await?.is_some() {
            return Err(S3Problem::Taken(SUMMARY_FILE.to_owned()));
        }
        let upload = self.begin_check().await?;
        self.abort(SUMMARY_FILE, &upload).await
    }

    pub(super) async fn store(&self, file: &ResultFile, meter: &Meter<'_>) -> Result<(), StorageProblem> {
        match self.head(&file.name).await? {
            Some(object) if is_same(&object, file) => {
                meter.add(file.bytes);
                return Ok(());
            }
            Some(_) => return Err(S3Problem::Taken(file.name.clone()).into()),
            None => {}
        }
        for _ in 0..UPLOADS {
            let checksum = self.upload(file, meter).await?;
            match self.head(&file.name).await? {
                Some(object) if is_same(&object, file) && is_right(&object, &checksum) => return Ok(()),
                Some(_) => return Err(S3Problem::Garbled(file.name.clone()).into()),
                // The store has forgotten the upload, or what it was given before it failed.
                None => tracing::warn!("{} is not in {} after it was put there", file.name, self.folder),
            }
        }
        Err(S3Problem::Lost(file.name.clone()).into())
    }

    /// What the store has under a name. Answers to this question have no text: whoever may not list a bucket is refused what is not
    /// there, and an expired token is a bad request. What it is shows when something is written.
    async fn head(&self, name: &str) -> Result<Option<HeadObjectOutput>, S3Problem> {
        let asked = self.client.head_object().bucket(self.folder.bucket());
        let asked = asked
            .key(self.folder.key(name))
            .checksum_mode(ChecksumMode::Enabled);
        match asked.send().await {
            Ok(object) => Ok(Some(object)),
            Err(error) => match Failure::of(&error, self.patience) {
                Failure::Absent | Failure::Denied | Failure::Problem(S3Problem::Answer(400)) => Ok(None),
                failure => Err(failure.into_problem(Action::GetObject)),
            },
        }
    }
}

/// Whether an object was put there as this file.
fn is_same(object: &HeadObjectOutput, file: &ResultFile) -> bool {
    let bytes = object
        .content_length()
        .and_then(|bytes| u64::try_from(bytes).ok());
    let sha256 = object.metadata().and_then(|metadata| metadata.get(SHA256));
    bytes == Some(file.bytes) && sha256 == Some(&file.sha256.to_string())
}

/// Whether the store has computed the checksum that was to be expected. Some keep none.
fn is_right(object: &HeadObjectOutput, expected: &Checksum) -> bool {
    object.checksum_sha256().is_none_or(|found| expected.is(found))
}

#[cfg(test)]
mod tests;
