//! Writes content.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_ipc::writer::FileWriter;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::columns::{SCHEMA, TurnBuilder};
use super::reader::Content;
use super::{BUILDER, HEAD_FILE, Head, Origin, StoreError, TURNS_FILE};
use crate::digest;
use crate::turn::Turn;

/// Turns a batch, at most; part of what the digest depends on.
const BATCH_TURNS: usize = 16_384;
/// Bytes of text a batch, about; part of what the digest depends on.
const BATCH_BYTES: usize = 32 << 20;

/// Takes turns in the order of the trace and publishes them as content.
///
/// Until [`Writer::finish`] everything lies in a hidden folder beside the final one, which goes when the writer is dropped.
pub struct Writer {
    parent: PathBuf,
    folder: TempDir,
    file: FileWriter<HashingWriter>,
    builder: TurnBuilder,
    turns: u32,
    sessions: u32,
}

impl Writer {
    /// Begins a content inside the folder `parent`, which is made where it is missing.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn create(parent: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(parent).map_err(StoreError::io(parent))?;
        let folder = tempfile::Builder::new()
            .prefix(".building-")
            .tempdir_in(parent)
            .map_err(StoreError::io(parent))?;
        let path = folder.path().join(TURNS_FILE);
        let file = File::create(&path).map_err(StoreError::io(&path))?;
        let hashing = HashingWriter {
            file: BufWriter::with_capacity(1 << 20, file),
            hasher: Sha256::new(),
        };
        Ok(Self {
            parent: parent.to_owned(),
            folder,
            file: FileWriter::try_new(hashing, &SCHEMA)?,
            builder: TurnBuilder::new(),
            turns: 0,
            sessions: 0,
        })
    }

    /// Adds the next turn.
    ///
    /// # Errors
    /// When the disk refuses, or the trace is too long.
    pub fn push(&mut self, turn: &Turn) -> Result<(), StoreError> {
        self.turns = self.turns.checked_add(1).ok_or(StoreError::TooManyTurns)?;
        self.sessions = self.sessions.max(turn.session.saturating_add(1));
        self.builder.push(turn)?;
        if self.builder.len() >= BATCH_TURNS || self.builder.bytes() >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Publishes the content under its digest, inside the parent folder, and opens it. Content of this digest that is there
    /// already is kept as it is.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self, origin: Origin) -> Result<Content, StoreError> {
        if self.builder.len() > 0 {
            self.flush()?;
        }
        let building = self.folder.path().to_owned();
        let turns_path = building.join(TURNS_FILE);
        self.file.finish()?;
        let mut written = self.file.into_inner()?;
        written.flush().map_err(StoreError::io(&turns_path))?;
        let head = Head {
            builder: BUILDER.to_owned(),
            origin,
            turns: self.turns,
            sessions: self.sessions,
            turns_digest: digest::finish(written.hasher),
        };
        let head_path = building.join(HEAD_FILE);
        let json = head_json(&head).map_err(StoreError::io(&head_path))?;
        fs::write(&head_path, &json).map_err(StoreError::io(&head_path))?;
        let digest = digest::of(&json);
        let target = self.parent.join(digest.to_string());
        if target.exists() {
            return Content::open(&target);
        }
        match fs::rename(&building, &target) {
            Ok(()) => Content::just_written(&target, head, digest),
            // Another process was faster.
            Err(_) if target.exists() => Content::open(&target),
            Err(error) => Err(StoreError::io(&target)(error)),
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let batch = self.builder.finish()?;
        Ok(self.file.write(&batch)?)
    }
}

/// The head's canonical bytes.
pub(super) fn head_json(head: &Head) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(head)?)
}

/// A file that is hashed while it is written.
struct HashingWriter {
    file: BufWriter<File>,
    hasher: Sha256,
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
