//! A thread that writes and hashes while the next bytes are on their way.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};

use bytes::Bytes;
use reprise_contract::Digest;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};

use super::problem::{DigestOrigin, DownloadProblem};
use crate::digest::Hasher;
use crate::error::Problem;
use crate::store::Claim;

/// Pieces on their way to the disk: enough that neither side waits for the other's hiccups, few enough to hold.
const QUEUE: usize = 16;
/// How much of what is there is hashed at a time.
const BUFFER: usize = 1 << 20;

/// The partial file of a claim, being written. Dropping it writes what it was given, and then gives the claim up.
pub(super) struct Writer {
    pieces: Sender<Piece>,
    /// Has the claim, so that nobody else writes before it is done.
    thread: JoinHandle<Result<Written, Problem>>,
    length: u64,
}

enum Piece {
    Bytes(Bytes),
    /// What was written is of no use.
    Restart,
}

/// A file of which all bytes are there.
pub(super) struct Written {
    pub(super) claim: Claim,
    pub(super) sha256: Digest,
}

impl Writer {
    /// Goes on after what is there, unless that is more than `most` bytes.
    pub(super) async fn open(claim: Claim, most: u64) -> Result<Self, Problem> {
        let partial = spawn_blocking(move || Partial::open(claim, most))
            .await
            .map_err(|_| Problem::Stopped)??;
        let length = partial.length;
        let (pieces, queue) = channel(QUEUE);
        Ok(Self {
            pieces,
            thread: spawn_blocking(move || partial.write_all(queue)),
            length,
        })
    }

    /// All bytes so far, written or about to be.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<(), Problem> {
        self.length += bytes.len() as u64;
        self.hand_over(Piece::Bytes(bytes)).await
    }

    pub(super) async fn restart(&mut self) -> Result<(), Problem> {
        self.length = 0;
        self.hand_over(Piece::Restart).await
    }

    pub(super) async fn finish(self) -> Result<Written, Problem> {
        drop(self.pieces);
        self.thread.await.unwrap_or(Err(Problem::Stopped))
    }

    async fn hand_over(&mut self, piece: Piece) -> Result<(), Problem> {
        if self.pieces.send(piece).await.is_ok() {
            return Ok(());
        }
        // The thread ends early only for a cause.
        match (&mut self.thread).await {
            Ok(Err(problem)) => Err(problem),
            Ok(Ok(_)) | Err(_) => Err(Problem::Stopped),
        }
    }
}

impl Written {
    /// A file with another digest is removed: it would be wrong again.
    pub(super) fn verify(&self, expected: Option<Digest>, origin: DigestOrigin) -> Result<(), Problem> {
        let Some(expected) = expected.filter(|expected| *expected != self.sha256) else {
            return Ok(());
        };
        let partial = &self.claim.partial;
        fs::remove_file(partial).map_err(|error| DownloadProblem::of_write(error, partial))?;
        Err(Problem::Download(DownloadProblem::Digest {
            actual: self.sha256,
            expected,
            origin,
        }))
    }
}

/// What the thread has.
struct Partial {
    claim: Claim,
    file: File,
    length: u64,
    hasher: Hasher,
}

impl Partial {
    fn open(claim: Claim, most: u64) -> Result<Self, Problem> {
        let open = || {
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&claim.partial)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let (file, length) = open().map_err(|error| DownloadProblem::of_write(error, &claim.partial))?;
        let mut partial = Self {
            claim,
            file,
            length,
            hasher: Hasher::default(),
        };
        if length > most {
            partial
                .restart()
                .map_err(|error| DownloadProblem::of_write(error, &partial.claim.partial))?;
        }
        Ok(partial)
    }

    fn write_all(mut self, queue: Receiver<Piece>) -> Result<Written, Problem> {
        match self.try_write_all(queue) {
            Ok(()) => Ok(Written {
                sha256: self.hasher.digest(),
                claim: self.claim,
            }),
            Err(error) => Err(DownloadProblem::of_write(error, &self.claim.partial).into()),
        }
    }

    fn try_write_all(&mut self, mut queue: Receiver<Piece>) -> io::Result<()> {
        self.hash_what_is_there()?;
        while let Some(piece) = queue.blocking_recv() {
            match piece {
                Piece::Bytes(bytes) => {
                    self.file.write_all(&bytes)?;
                    self.hasher.update(&bytes);
                }
                Piece::Restart => self.restart()?,
            }
        }
        Ok(())
    }

    /// To its end, whoever still wants it: pieces that are queued already go after it.
    fn hash_what_is_there(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut missing = self.length;
        while missing > 0 {
            let most = usize::try_from(missing).unwrap_or(BUFFER).min(BUFFER);
            self.file.read_exact(&mut buffer[..most])?;
            self.hasher.update(&buffer[..most]);
            missing -= most as u64;
        }
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.length = 0;
        self.hasher = Hasher::default();
        Ok(())
    }
}
