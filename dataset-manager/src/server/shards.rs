//! A shard on its way to its worker, written as fast as it is read.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::answers::Denied;
use super::state::Shared;
use super::workers::Asker;

/// Writes the shard of a number.
pub type WriteShard = Arc<dyn Fn(u32, &mut dyn Write) -> io::Result<()> + Send + Sync>;

/// What goes on at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks that wait for their worker to read them: all that is held in memory of a shard.
const CHUNKS: usize = 4;

pub(super) async fn shard(
    State(shared): State<Arc<Shared>>,
    Path(index): Path<u32>,
    Query(asker): Query<Asker>,
) -> Result<Response, Denied> {
    shared.with(|coordinator, now| coordinator.hear(now, index, &asker.incarnation))?;
    let Some(served) = shared.served() else {
        return Err(Denied::not_now(
            "Cannot give a shard yet: the plan is not ready. Join first.",
        ));
    };
    let write = Arc::clone(&served.write_shard);
    let (chunks, read) = mpsc::channel(CHUNKS);
    tokio::task::spawn_blocking(move || {
        let mut sink = Sink {
            chunks,
            buffer: Vec::with_capacity(CHUNK_BYTES),
        };
        if let Err(error) = write(index, &mut sink).and_then(|()| sink.flush()) {
            // The worker sees a body that breaks off, and asks again; one that is gone hears nothing.
            let _ = sink.chunks.blocking_send(Err(error));
        }
    });
    let stream = futures_util::stream::unfold(read, move |mut read| {
        let (shared, incarnation) = (Arc::clone(&shared), asker.incarnation.clone());
        async move {
            let chunk: io::Result<Bytes> = read.recv().await?;
            // As long as bytes flow, the worker is there.
            let heard = shared.with(|coordinator, now| coordinator.hear(now, index, &incarnation));
            let chunk = heard.map_err(io::Error::other).and(chunk);
            Some((chunk, read))
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/vnd.apache.arrow.stream")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// Hands on what is written in chunks, and waits while enough of them are on their way.
struct Sink {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    buffer: Vec<u8>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_BYTES - self.buffer.len();
        let taken = bytes.len().min(room);
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES));
        self.chunks
            .blocking_send(Ok(chunk.into()))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}
