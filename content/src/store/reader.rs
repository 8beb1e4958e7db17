//! Reads content where it lies, in a memory-mapped file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Int64Array, MapArray, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::root_as_footer;
use arrow_schema::ArrowError;
use arrow_select::interleave::interleave_record_batch;
use bytes::Bytes;
use memmap2::Mmap;

use super::columns::{SCHEMA, body_kind, column, piece_kind};
use super::{HEAD_FILE, Head, StoreError, TURNS_FILE};
use crate::corpus::Corpus;
use crate::digest;
use crate::piece::{Absent, TextId};
use reprise_contract::Digest;

/// The bytes of an Arrow file after its footer: the footer's length and the magic.
const TRAILER_BYTES: usize = 10;

/// What a piece takes in the file apart from its own bytes: its kind, its id, its length and where its bytes begin.
const PIECE_NUMBERS_BYTES: usize = 17;

/// Content that is there to be sent. Clones share it.
#[derive(Clone)]
pub struct Content {
    head: Arc<Head>,
    digest: Digest,
    batches: Arc<[Batch]>,
    /// The first turn of each batch.
    starts: Arc<[u32]>,
    corpus: Corpus,
}

impl Content {
    /// Opens the content in `folder`.
    ///
    /// # Errors
    /// When a file is missing or is not what this version writes.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let head_path = folder.join(HEAD_FILE);
        let json = fs::read(&head_path).map_err(StoreError::io(&head_path))?;
        let head: Head = serde_json::from_slice(&json).map_err(|error| StoreError::Damaged {
            path: head_path,
            reason: error.to_string(),
        })?;
        let turns_path = folder.join(TURNS_FILE);
        let file = map(&turns_path)?;
        if digest::of(&file) != head.turns_digest {
            let reason = "its bytes are not those that its head names".to_owned();
            return Err(StoreError::Damaged {
                path: turns_path,
                reason,
            });
        }
        Self::assemble(turns_path, &file, head, digest::of(&json))
    }

    /// The content whose file of turns this process has just written into `folder`, and hashed while it did.
    pub(super) fn just_written(folder: &Path, head: Head, digest: Digest) -> Result<Self, StoreError> {
        let turns_path = folder.join(TURNS_FILE);
        let file = map(&turns_path)?;
        Self::assemble(turns_path, &file, head, digest)
    }

    fn assemble(turns_path: PathBuf, file: &Buffer, head: Head, digest: Digest) -> Result<Self, StoreError> {
        let batches = read_batches(&turns_path, file)?;
        let mut starts = Vec::with_capacity(batches.len());
        let mut turns = 0;
        for batch in &batches {
            starts.push(turns);
            turns += batch.len();
        }
        if turns != head.turns {
            let reason = format!("it has {turns} turns where its head says {}", head.turns);
            return Err(StoreError::Damaged {
                path: turns_path,
                reason,
            });
        }
        let corpus = Corpus::new(&head.origin.trace_digest, head.origin.seed);
        Ok(Self {
            digest,
            head: Arc::new(head),
            batches: batches.into(),
            starts: starts.into(),
            corpus,
        })
    }

    /// What it was made of.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The corpus that its text comes from.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// How many turns.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.head.turns
    }

    /// Whether it has no turns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.turns == 0
    }

    /// The turn in row `index`, which is below [`Content::len`].
    #[must_use]
    pub fn turn(&self, index: u32) -> TurnRef<'_> {
        let batch = self.batch_of(index);
        TurnRef {
            batch: &self.batches[batch],
            row: (index - self.starts[batch]) as usize,
        }
    }

    /// Copies of the turns in these rows, in this order, in the columns of the file.
    pub(crate) fn rows(&self, turns: &[u32]) -> Result<RecordBatch, ArrowError> {
        let mut used: Vec<usize> = turns.iter().map(|turn| self.batch_of(*turn)).collect();
        used.sort_unstable();
        used.dedup();
        let places: Vec<(usize, usize)> = turns
            .iter()
            .map(|turn| {
                let batch = self.batch_of(*turn);
                let place = used.partition_point(|other| *other < batch);
                (place, (turn - self.starts[batch]) as usize)
            })
            .collect();
        let records: Vec<&RecordBatch> = used.iter().map(|batch| &self.batches[*batch].record).collect();
        if records.is_empty() {
            return Ok(RecordBatch::new_empty(SCHEMA.clone()));
        }
        interleave_record_batch(&records, &places)
    }

    fn batch_of(&self, turn: u32) -> usize {
        self.starts
            .partition_point(|start| *start <= turn)
            .saturating_sub(1)
    }

    /// All turns, in the order of the trace.
    pub fn turns(&self) -> impl Iterator<Item = TurnRef<'_>> + '_ {
        self.batches
            .iter()
            .flat_map(|batch| (0..batch.len() as usize).map(move |row| TurnRef { batch, row }))
    }
}

/// The columns of one record batch.
struct Batch {
    /// All of them, as they lie.
    record: RecordBatch,
    session: UInt32Array,
    line: UInt32Array,
    recorded_ns: Int64Array,
    delay_ns: UInt64Array,
    input_tokens: UInt32Array,
    output_tokens: UInt32Array,
    request_id: StringArray,
    headers: MapArray,
    header_names: StringArray,
    header_values: StringArray,
    constrained: BooleanArray,
    body: UInt8Array,
    piece_offsets: OffsetBuffer<i32>,
    piece_kind: UInt8Array,
    piece_id: UInt64Array,
    piece_tokens: UInt32Array,
    piece_bytes: BinaryArray,
    extra: BinaryArray,
}

impl Batch {
    fn new(batch: &RecordBatch) -> Self {
        let pieces = batch.column(column::PIECES).as_list::<i32>();
        let piece = pieces.values().as_struct();
        let headers = batch.column(column::HEADERS).as_map();
        Self {
            record: batch.clone(),
            session: batch.column(column::SESSION).as_primitive::<UInt32Type>().clone(),
            line: batch.column(column::LINE).as_primitive::<UInt32Type>().clone(),
            recorded_ns: batch
                .column(column::RECORDED_NS)
                .as_primitive::<Int64Type>()
                .clone(),
            delay_ns: batch
                .column(column::DELAY_NS)
                .as_primitive::<UInt64Type>()
                .clone(),
            input_tokens: batch
                .column(column::INPUT_TOKENS)
                .as_primitive::<UInt32Type>()
                .clone(),
            output_tokens: batch
                .column(column::OUTPUT_TOKENS)
                .as_primitive::<UInt32Type>()
                .clone(),
            request_id: batch.column(column::REQUEST_ID).as_string::<i32>().clone(),
            headers: headers.clone(),
            header_names: headers.keys().as_string::<i32>().clone(),
            header_values: headers.values().as_string::<i32>().clone(),
            constrained: batch.column(column::CONSTRAINED).as_boolean().clone(),
            body: batch.column(column::BODY).as_primitive::<UInt8Type>().clone(),
            piece_offsets: pieces.offsets().clone(),
            piece_kind: piece.column(0).as_primitive::<UInt8Type>().clone(),
            piece_id: piece.column(1).as_primitive::<UInt64Type>().clone(),
            piece_tokens: piece.column(2).as_primitive::<UInt32Type>().clone(),
            piece_bytes: piece.column(3).as_binary::<i32>().clone(),
            extra: batch.column(column::EXTRA).as_binary::<i32>().clone(),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a batch has at most 16,384 turns")]
    fn len(&self) -> u32 {
        self.session.len() as u32
    }
}

/// One turn, where it lies.
#[derive(Clone, Copy)]
pub struct TurnRef<'a> {
    batch: &'a Batch,
    row: usize,
}

impl<'a> TurnRef<'a> {
    /// See [`crate::Turn::session`].
    #[must_use]
    pub fn session(&self) -> u32 {
        self.batch.session.value(self.row)
    }

    /// See [`crate::Turn::line`].
    #[must_use]
    pub fn line(&self) -> u32 {
        self.batch.line.value(self.row)
    }

    /// See [`crate::Turn::recorded_ns`].
    #[must_use]
    pub fn recorded_ns(&self) -> Option<i64> {
        self.batch
            .recorded_ns
            .is_valid(self.row)
            .then(|| self.batch.recorded_ns.value(self.row))
    }

    /// See [`crate::Turn::delay_ns`].
    #[must_use]
    pub fn delay_ns(&self) -> Option<u64> {
        self.batch
            .delay_ns
            .is_valid(self.row)
            .then(|| self.batch.delay_ns.value(self.row))
    }

    /// See [`crate::Turn::input_tokens`].
    #[must_use]
    pub fn input_tokens(&self) -> Option<u32> {
        self.batch
            .input_tokens
            .is_valid(self.row)
            .then(|| self.batch.input_tokens.value(self.row))
    }

    /// See [`crate::Turn::output_tokens`].
    #[must_use]
    pub fn output_tokens(&self) -> Option<u32> {
        self.batch
            .output_tokens
            .is_valid(self.row)
            .then(|| self.batch.output_tokens.value(self.row))
    }

    /// See [`crate::Turn::request_id`].
    #[must_use]
    pub fn request_id(&self) -> Option<&'a str> {
        self.batch
            .request_id
            .is_valid(self.row)
            .then(|| self.batch.request_id.value(self.row))
    }

    /// See [`crate::Turn::headers`].
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let batch = self.batch;
        row_range(batch.headers.offsets(), self.row)
            .map(move |entry| (batch.header_names.value(entry), batch.header_values.value(entry)))
    }

    /// See [`crate::Turn::is_constrained`].
    #[must_use]
    pub fn is_constrained(&self) -> bool {
        self.batch.constrained.value(self.row)
    }

    /// About how many bytes it takes in the file, apart from its numbers.
    pub(crate) fn stored_bytes(&self) -> usize {
        let pieces = row_range(&self.batch.piece_offsets, self.row);
        let text: usize = pieces
            .map(|piece| PIECE_NUMBERS_BYTES + self.batch.piece_bytes.value(piece).len())
            .sum();
        let headers: usize = self.headers().map(|(name, value)| name.len() + value.len()).sum();
        let extra = self.batch.extra.value(self.row).len();
        text + headers + extra + self.request_id().map_or(0, str::len)
    }

    /// See [`crate::Turn::body`].
    #[must_use]
    pub fn body(&self) -> BodyRef<'a> {
        let pieces = Pieces {
            batch: self.batch,
            rest: row_range(&self.batch.piece_offsets, self.row),
        };
        let extra = self
            .batch
            .extra
            .is_valid(self.row)
            .then(|| self.batch.extra.value(self.row));
        match self.batch.body.value(self.row) {
            body_kind::PROMPT => BodyRef::Prompt { pieces, extra },
            body_kind::MESSAGES => BodyRef::Messages {
                messages: pieces,
                extra,
            },
            _ => BodyRef::Recorded { pieces },
        }
    }
}

/// A body, where it lies. See [`crate::Body`].
#[derive(Clone)]
pub enum BodyRef<'a> {
    /// See [`crate::Body::Prompt`].
    Prompt {
        /// The words.
        pieces: Pieces<'a>,
        /// Members merged last.
        extra: Option<&'a [u8]>,
    },
    /// See [`crate::Body::Messages`].
    Messages {
        /// The array of messages.
        messages: Pieces<'a>,
        /// Members merged last.
        extra: Option<&'a [u8]>,
    },
    /// See [`crate::Body::Recorded`].
    Recorded {
        /// Literals and slots.
        pieces: Pieces<'a>,
    },
}

/// A piece, where it lies. See [`crate::Piece`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceRef<'a> {
    /// See [`crate::Piece::Corpus`].
    Corpus {
        /// Which text.
        id: TextId,
        /// How many tokens.
        tokens: u32,
    },
    /// See [`crate::Piece::Literal`].
    Literal(&'a [u8]),
    /// See [`crate::Piece::Slot`].
    Slot(SlotRef<'a>),
}

/// A slot, where it lies. See [`crate::Slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotRef<'a> {
    /// See [`crate::Slot::Model`].
    Model(&'a [u8]),
    /// See [`crate::Slot::MaxTokens`].
    MaxTokens(&'a [u8]),
    /// See [`crate::Slot::IgnoreEos`].
    IgnoreEos(&'a [u8]),
    /// See [`crate::Slot::Tail`].
    Tail(Absent),
}

/// The pieces of one body, in order.
#[derive(Clone)]
pub struct Pieces<'a> {
    batch: &'a Batch,
    rest: std::ops::Range<usize>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = PieceRef<'a>;

    fn next(&mut self) -> Option<PieceRef<'a>> {
        let index = self.rest.next()?;
        let bytes = self.batch.piece_bytes.value(index);
        let id = self.batch.piece_id.value(index);
        Some(match self.batch.piece_kind.value(index) {
            piece_kind::CORPUS => PieceRef::Corpus {
                id: TextId::from_bits(id),
                tokens: self.batch.piece_tokens.value(index),
            },
            piece_kind::MODEL => PieceRef::Slot(SlotRef::Model(bytes)),
            piece_kind::MAX_TOKENS => PieceRef::Slot(SlotRef::MaxTokens(bytes)),
            piece_kind::IGNORE_EOS => PieceRef::Slot(SlotRef::IgnoreEos(bytes)),
            piece_kind::TAIL => PieceRef::Slot(SlotRef::Tail(Absent::from_bits(id))),
            _ => PieceRef::Literal(bytes),
        })
    }
}

/// The entries of a list column that belong to `row`.
#[allow(
    clippy::cast_sign_loss,
    reason = "Arrow's offsets are never negative, which decoding has checked"
)]
fn row_range(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

fn read_batches(path: &Path, buffer: &Buffer) -> Result<Vec<Batch>, StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let trailer = buffer
        .len()
        .checked_sub(TRAILER_BYTES)
        .and_then(|start| <[u8; TRAILER_BYTES]>::try_from(&buffer[start..]).ok())
        .ok_or_else(|| damaged("it is too short to be an Arrow file".to_owned()))?;
    let footer_length = read_footer_length(trailer).map_err(|error| damaged(error.to_string()))?;
    let footer_start = buffer
        .len()
        .checked_sub(TRAILER_BYTES + footer_length)
        .ok_or_else(|| damaged("its footer is longer than the file".to_owned()))?;
    let footer = root_as_footer(&buffer[footer_start..buffer.len() - TRAILER_BYTES])
        .map_err(|error| damaged(error.to_string()))?;
    let schema = footer
        .schema()
        .ok_or_else(|| damaged("it has no schema".to_owned()))?;
    let schema = try_fb_to_schema(schema).map_err(|error| damaged(error.to_string()))?;
    if schema.fields() != SCHEMA.fields() {
        return Err(damaged("its columns are not those of this version".to_owned()));
    }
    let decoder = FileDecoder::new(Arc::new(schema), footer.version());
    let mut batches = Vec::new();
    for block in footer.recordBatches().into_iter().flatten() {
        let start = usize::try_from(block.offset()).map_err(|error| damaged(error.to_string()))?;
        let length = usize::try_from(i64::from(block.metaDataLength()) + block.bodyLength())
            .map_err(|error| damaged(error.to_string()))?;
        if start.checked_add(length).is_none_or(|end| end > buffer.len()) {
            return Err(damaged("a batch reaches beyond the file".to_owned()));
        }
        let batch = decoder
            .read_record_batch(block, &buffer.slice_with_length(start, length))
            .map_err(|error| damaged(error.to_string()))?;
        batches.extend(batch.map(|batch| Batch::new(&batch)));
    }
    Ok(batches)
}

#[allow(unsafe_code, reason = "mapping a file has no safe form")]
fn map(path: &Path) -> Result<Buffer, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path))?;
    // SAFETY: a map is sound while nobody changes the file under it. The file was renamed into place complete, nothing in
    // Reprise opens it for writing again, and its folder is named after its digest, so no other content can take its place.
    let mapped = unsafe { Mmap::map(&file) }.map_err(StoreError::io(path))?;
    Ok(Buffer::from(Bytes::from_owner(mapped)))
}
