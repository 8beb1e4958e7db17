//! From a file or a pipe to a blocking reader: a thread reads ahead, a bounded channel holds it back.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use bytes::{Buf, Bytes, BytesMut};
use reprise_contract::Digest;
use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tokio::sync::oneshot;

use crate::digest::Hasher;
use crate::error::{Problem, SourceError};
use crate::local::LocalSource;
use crate::progress::Progress;
use crate::reference::Reference;

/// Chunks read ahead. With chunks of 1 MiB it bounds what a slow reader makes us hold.
const READ_AHEAD: usize = 4;

/// What the reading thread hands over, in this order.
enum Delivery {
    Opened { length: Option<u64> },
    Chunk(Bytes),
    End(Digest),
}

type Handed = Result<Delivery, Problem>;

/// The bytes as they are stored. Dropping it ends the transfer.
pub(crate) struct Stored {
    reference: Reference,
    deliveries: Receiver<Handed>,
    current: Bytes,
    progress: Progress,
    digest: Option<Digest>,
    /// Held only to be dropped: that is what stops a thread which waits for the source.
    _wanted: oneshot::Sender<()>,
}

impl Stored {
    /// Starts to read from a source, and waits until it is open.
    pub(crate) fn open(reference: &Reference, source: LocalSource) -> Result<Self, SourceError> {
        let fail = |problem| SourceError::new(reference.clone(), problem);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| fail(Problem::Start(error)))?;
        let (sender, deliveries) = sync_channel(READ_AHEAD);
        let (wanted, unwanted) = oneshot::channel();
        thread::Builder::new()
            .name("reprise-source".to_owned())
            .spawn(move || read_ahead(runtime, source, &sender, unwanted))
            .map_err(|error| fail(Problem::Start(error)))?;
        match deliveries.recv() {
            Ok(Ok(Delivery::Opened { length })) => Ok(Self {
                reference: reference.clone(),
                deliveries,
                current: Bytes::new(),
                progress: Progress::new(length),
                digest: None,
                _wanted: wanted,
            }),
            Ok(Err(problem)) => Err(fail(problem)),
            Ok(Ok(Delivery::Chunk(_) | Delivery::End(_))) | Err(_) => Err(fail(Problem::Stopped)),
        }
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The digest of all stored bytes, once they are all read.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.digest
    }

    pub(crate) fn error(&self, problem: Problem) -> SourceError {
        SourceError::new(self.reference.clone(), problem)
    }

    /// The next `length` bytes, fewer only at the end. They are not used up.
    pub(crate) fn peek(&mut self, length: usize) -> Result<&[u8], SourceError> {
        while self.current.len() < length {
            let Some(chunk) = self.receive()? else { break };
            let mut joined = BytesMut::from(&self.current[..]);
            joined.extend_from_slice(&chunk);
            self.current = joined.freeze();
        }
        Ok(&self.current[..length.min(self.current.len())])
    }

    /// The next chunk; `None` at the end.
    fn receive(&mut self) -> Result<Option<Bytes>, SourceError> {
        if self.digest.is_some() {
            return Ok(None);
        }
        match self.deliveries.recv() {
            Ok(Ok(Delivery::Chunk(chunk))) => {
                self.progress.add(chunk.len());
                Ok(Some(chunk))
            }
            Ok(Ok(Delivery::End(digest))) => {
                self.digest = Some(digest);
                Ok(None)
            }
            Ok(Err(problem)) => Err(self.error(problem)),
            Ok(Ok(Delivery::Opened { .. })) | Err(_) => Err(self.error(Problem::Stopped)),
        }
    }
}

impl BufRead for Stored {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty() {
            match self.receive()? {
                Some(chunk) => self.current = chunk,
                None => break,
            }
        }
        Ok(&self.current)
    }

    fn consume(&mut self, amount: usize) {
        self.current.advance(amount);
    }
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

/// Reads until the end, a failure, or nobody wants any more.
fn read_ahead(
    runtime: Runtime,
    source: LocalSource,
    sender: &SyncSender<Handed>,
    unwanted: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        select! {
            _ = unwanted => {}
            // Whoever no longer listens has dropped the receiver, and needs no news.
            result = deliver(source, sender) => if let Err(problem) = result {
                let _ = sender.send(Err(problem));
            }
        }
    });
    // A name look-up or a read from a pipe may still be under way. Nothing waits for it.
    runtime.shutdown_background();
}

async fn deliver(source: LocalSource, sender: &SyncSender<Handed>) -> Result<(), Problem> {
    // The thread has nothing to do but this, so a full channel may block it.
    let hand_over = |delivery| sender.send(Ok(delivery)).map_err(|_| Problem::Stopped);
    let mut stored = source.open().await?;
    hand_over(Delivery::Opened {
        length: stored.length(),
    })?;
    let mut hasher = Hasher::default();
    while let Some(chunk) = stored.next().await? {
        hasher.update(&chunk);
        hand_over(Delivery::Chunk(chunk))?;
    }
    hand_over(Delivery::End(hasher.digest()))
}
