//! Content on disk: one Arrow IPC file of turns and a JSON head, in a folder named after their digest.
//!
//! [`Writer`] takes turns in the order of the trace and publishes the folder by renaming it into place, so nobody ever sees
//! half of it. [`Content`] maps the file into memory: turns are read where they lie.

mod columns;
mod reader;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use arrow_schema::ArrowError;
use serde::{Deserialize, Serialize};

use reprise_contract::Digest;

pub(crate) use columns::SCHEMA as TURN_COLUMNS;
pub use reader::{BodyRef, Content, PieceRef, Pieces, SlotRef, TurnRef};
pub use writer::Writer;

/// The version of what this crate writes; part of every content digest.
pub const BUILDER: &str = "reprise-content/1";

const HEAD_FILE: &str = "content.json";
const TURNS_FILE: &str = "turns.arrow";

/// What a content was made of. Its JSON form, with the digest of the turns in it, is what the content digest is taken of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// [`BUILDER`] of whoever wrote it.
    pub builder: String,
    /// What was read and how.
    #[serde(flatten)]
    pub origin: Origin,
    /// How many turns.
    pub turns: u32,
    /// How many sessions.
    pub sessions: u32,
    /// Digest of the file of turns.
    pub turns_digest: Digest,
}

/// What a content is made from, apart from the turns themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Digest of the decompressed trace.
    pub trace_digest: Digest,
    /// The trace format.
    pub format: String,
    /// The options that shaped it, by name.
    pub options: BTreeMap<String, String>,
    /// The corpus that its text comes from.
    pub corpus: String,
    /// The seed of its text.
    pub seed: u64,
}

/// Content that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk refused.
    #[error("Cannot use {}: {source}. Check that the folder exists, is writable and has room.", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The file is not what [`Writer`] writes.
    #[error("Cannot use {}: {reason}. Delete the folder and build the content again.", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The trace has more records than a content holds.
    #[error("Cannot use the trace: it has more than 4,294,967,295 records. Split it.")]
    TooManyTurns,
    /// Arrow refused.
    #[error("Cannot write the content: {0}. This is a fault in Reprise.")]
    Arrow(#[from] ArrowError),
}

impl StoreError {
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

#[cfg(test)]
mod tests;
