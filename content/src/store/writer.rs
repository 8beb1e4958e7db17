//! Writes content.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_ipc::writer::FileWriter;
use tempfile::TempDir;

use super::columns::{SCHEMA, TurnBuilder, column};
use super::reader::Content;
use super::{BUILDER, HEAD_FILE, Head, Origin, StoreError, TURNS_FILE};
use crate::digest::{self, HashingWriter};
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
    file: FileWriter<HashingWriter<BufWriter<File>>>,
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
        let hashing = HashingWriter::new(BufWriter::with_capacity(1 << 20, file));
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

    /// Adds the turns of a batch in the columns of the file, in their order.
    pub(crate) fn push_batch(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        if self.builder.len() > 0 {
            self.flush()?;
        }
        let turns = u32::try_from(batch.num_rows()).map_err(|_| StoreError::TooManyTurns)?;
        self.turns = self.turns.checked_add(turns).ok_or(StoreError::TooManyTurns)?;
        let sessions = batch.column(column::SESSION).as_primitive::<UInt32Type>();
        for session in sessions.values() {
            self.sessions = self.sessions.max(session.saturating_add(1));
        }
        Ok(self.file.write(batch)?)
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
        let written = self.file.into_inner()?;
        let (_, turns_digest) = written.finish().map_err(StoreError::io(&turns_path))?;
        let head = Head {
            builder: BUILDER.to_owned(),
            origin,
            turns: self.turns,
            sessions: self.sessions,
            turns_digest,
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
