//! Against a hub that the official clients take for one.

mod access;
mod cache;
mod fetch;
mod look_up;
mod python;
mod read;
mod settings;

use std::path::Path;
use std::time::Duration;

use reprise_test_servers::hub::Hub;

use super::*;
use crate::error::Problem;
use crate::http::client::Patience;
use crate::http::retry::Retry;
use crate::reference::{HubPath, RepoKind};
use crate::remote::{Found, Remote, RemoteFile, Shape, Span};

const IMPATIENT: Patience = Patience {
    connect: Duration::from_secs(5),
    idle: Duration::from_secs(5),
    retry: Retry {
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
    },
};

const CHAT: &[u8] = b"{\"timestamp\": 0}\n{\"timestamp\": 1}\n";

/// In large file storage, as its name says; it need not be compressed for that.
fn large() -> Vec<u8> {
    (0..100_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect()
}

/// A hub with `acme/traces`, and the commit of its `main`.
fn hub() -> (Hub, String) {
    let hub = Hub::start();
    let traces = hub.dataset("acme/traces");
    traces.commit([("README.md", "# Traces\n")]);
    let commit = traces.commit([
        ("data/chat.jsonl", CHAT.to_vec()),
        ("data/chat.jsonl.gz", large()),
        ("data/more/empty.jsonl", Vec::new()),
        ("data/ü ber#1?.txt", b"odd".to_vec()),
    ]);
    (hub, commit)
}

fn path(text: &str) -> HubPath {
    HubPath::parse(text, RepoKind::Dataset).unwrap()
}

/// As somebody with this token, or with none.
fn settings(hub: &Hub, token: Option<&str>) -> HubSettings {
    HubSettings::of(|name| match name {
        "HF_ENDPOINT" => Some(hub.endpoint().to_owned()),
        "HF_TOKEN" => token.map(str::to_owned),
        "HF_HOME" => Some("/nonexistent".to_owned()),
        _ => None,
    })
    .unwrap()
}

fn source(hub: &Hub, text: &str) -> HubSource {
    HubSource::patient(&path(text), &settings(hub, None), IMPATIENT).unwrap()
}

async fn look_up(hub: &Hub, text: &str) -> Result<Found, Problem> {
    source(hub, text).look_up().await
}

fn file(found: &Found) -> &RemoteFile {
    match &found.shape {
        Shape::File(file) => file,
        Shape::Folder(files) => panic!("a folder: {files:?}"),
    }
}

fn files(found: &Found) -> &[RemoteFile] {
    match &found.shape {
        Shape::Folder(files) => files,
        Shape::File(file) => panic!("a file: {file:?}"),
    }
}

/// All bytes, and where they begin.
async fn read(
    source: &HubSource,
    found: &Found,
    file: &RemoteFile,
    span: Span,
) -> Result<(u64, Vec<u8>), Problem> {
    let mut body = source.read(found, file, span).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok((body.from, bytes))
}

/// What a file's cache has, as a path below its root.
fn below<'a>(root: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(root).unwrap()
}
