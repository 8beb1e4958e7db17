mod access;
mod environment;
mod fake;
mod faults;
mod messages;
mod presigned;
mod store;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_s3::config::Credentials;
use reprise_test_servers::s3::{ACCESS_KEY, SECRET_KEY};

use super::connect::Connection;
use super::*;

/// As the owner of all buckets.
async fn owned(endpoint: &str, path: &str) -> S3Source {
    signed(endpoint, path, ACCESS_KEY, SECRET_KEY, Patience::default()).await
}

/// As whoever has these keys, and nothing from the environment.
async fn signed(endpoint: &str, path: &str, access_key: &str, secret: &str, patience: Patience) -> S3Source {
    let credentials = Credentials::new(access_key, secret, None, None, "test");
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    with_config(&config, endpoint, path, patience).await
}

/// As someone who has no credentials.
async fn unsigned(endpoint: &str, path: &str) -> S3Source {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .build();
    with_config(&config, endpoint, path, Patience::default()).await
}

async fn with_config(config: &SdkConfig, endpoint: &str, path: &str, patience: Patience) -> S3Source {
    let path = S3Path::parse(path).unwrap();
    let settings = S3Settings::new(Some(endpoint), None, None).unwrap();
    let connection = Connection::of_config(config, &settings, &patience).await.unwrap();
    S3Source {
        bucket: OnceCell::new_with(Some(Bucket::over(path.bucket(), connection, patience))),
        path,
        settings,
        access: Access::Ambient,
        patience,
    }
}

/// The bytes of a span, as text.
async fn read(source: &S3Source, found: &Found, file: &RemoteFile, span: Span) -> Result<String, Problem> {
    drain(source.read(found, file, span).await?).await
}

async fn drain(mut body: Body) -> Result<String, Problem> {
    let mut text = Vec::new();
    while let Some(piece) = std::future::poll_fn(|context| body.bytes.as_mut().poll_next(context)).await {
        text.extend_from_slice(&piece?);
    }
    Ok(String::from_utf8(text).unwrap())
}

fn file(found: &Found) -> &RemoteFile {
    match &found.shape {
        Shape::File(file) => file,
        Shape::Folder(files) => panic!("{files:?}"),
    }
}

fn files(found: &Found) -> &[RemoteFile] {
    match &found.shape {
        Shape::Folder(files) => files,
        Shape::File(file) => panic!("{file:?}"),
    }
}

async fn refusal(source: &S3Source) -> Problem {
    source.look_up().await.unwrap_err()
}
