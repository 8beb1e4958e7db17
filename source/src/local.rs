//! Files and pipes on this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use bytes::Bytes;
use tokio::task::spawn_blocking;

use crate::error::Problem;

/// Large enough that handing a chunk over costs nothing beside reading it.
const CHUNK: usize = 1024 * 1024;

/// A path.
pub(crate) struct LocalSource(pub(crate) PathBuf);

/// An open file.
pub(crate) struct LocalBytes {
    /// Taken while a read is under way, and gone after the last one.
    file: Option<File>,
    length: Option<u64>,
}

impl LocalSource {
    /// Opens it. All that can be known to go wrong goes wrong here.
    pub(crate) async fn open(&self) -> Result<LocalBytes, Problem> {
        let path = self.0.clone();
        unblocked(move || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok(LocalBytes {
                length: metadata.is_file().then_some(metadata.len()),
                file: Some(file),
            })
        })
        .await
    }
}

impl LocalBytes {
    /// How many bytes there are; `None` of a pipe.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The next ones, at most 1 MiB; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let Some(mut file) = self.file.take() else {
            return Ok(None);
        };
        let (file, chunk) = unblocked(move || {
            let mut chunk = vec![0; CHUNK];
            let length = read_some(&mut file, &mut chunk)?;
            chunk.truncate(length);
            Ok((file, chunk))
        })
        .await?;
        if chunk.is_empty() {
            return Ok(None);
        }
        self.file = Some(file);
        Ok(Some(chunk.into()))
    }
}

fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Runs file calls where they do not hold up the runtime.
async fn unblocked<T: Send + 'static>(
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    match spawn_blocking(call).await {
        Ok(result) => result.map_err(Problem::from_file),
        Err(_) => Err(Problem::Stopped),
    }
}
