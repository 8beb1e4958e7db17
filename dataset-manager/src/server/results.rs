//! The files of the result, while it is held.

use std::io;
use std::path::Path as FilePath;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use reprise_contract::protocol::{ResultFile, ResultFiles, path};
use tokio_util::io::ReaderStream;

use super::answers::Denied;
use super::state::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    readable().route(&format!("{}/acknowledge", path::RESULTS), post(acknowledge))
}

pub(super) fn readable() -> Router<Arc<Shared>> {
    Router::new()
        .route(path::RESULTS, get(list))
        .route(&format!("{}/{{file}}", path::RESULTS), get(file))
}

async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<ResultFiles>, Denied> {
    Ok(Json(files(&shared).await?))
}

/// Only what the list names can be read, so no name leads out of the folder.
async fn file(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Result<Response, Denied> {
    let listed = files(&shared).await?.files;
    let Some(listed) = listed.into_iter().find(|file| file.name == name) else {
        return Err(Denied::not_found());
    };
    let folder = folder(&shared)?;
    let file = tokio::fs::File::open(folder.join(&listed.name))
        .await
        .map_err(|_| Denied::not_found())?;
    let headers = [
        (header::CONTENT_TYPE, content_type(&listed.name).to_owned()),
        (header::CONTENT_LENGTH, listed.bytes.to_string()),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

async fn acknowledge(State(shared): State<Arc<Shared>>) -> Result<Json<serde_json::Value>, Denied> {
    if shared.acknowledge() {
        Ok(Json(serde_json::json!({})))
    } else {
        Err(not_yet())
    }
}

fn folder(shared: &Shared) -> Result<std::path::PathBuf, Denied> {
    shared.results().folder.ok_or_else(not_yet)
}

fn not_yet() -> Denied {
    Denied::not_now("Cannot give the result yet: the run is not over. Ask /v1/status, and try again.")
}

async fn files(shared: &Shared) -> Result<ResultFiles, Denied> {
    let folder = folder(shared)?;
    let files = list_files(&folder).await.map_err(|error| {
        Denied::not_now(format!(
            "Cannot read the result in {}: {error}. Try again.",
            folder.display()
        ))
    })?;
    Ok(ResultFiles { files })
}

/// Plain files only: neither folders nor links.
async fn list_files(folder: &FilePath) -> io::Result<Vec<ResultFile>> {
    let mut entries = tokio::fs::read_dir(folder).await?;
    let mut files = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        if let (true, Ok(name)) = (
            entry.file_type().await?.is_file(),
            entry.file_name().into_string(),
        ) {
            let bytes = entry.metadata().await?.len();
            files.push(ResultFile { name, bytes });
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn content_type(name: &str) -> &'static str {
    match FilePath::new(name)
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some("json") => "application/json",
        Some("html") => "text/html; charset=utf-8",
        Some("csv") => "text/csv; charset=utf-8",
        Some("txt" | "log") => "text/plain; charset=utf-8",
        Some("parquet") => "application/vnd.apache.parquet",
        _ => "application/octet-stream",
    }
}
