//! Reads a shard.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;

use super::wire::{COLUMNS, DIGEST_BYTES, HEAD_KEY, Head, VERSION, column};
use crate::digest::HashingWriter;
use crate::schedule::{LeftOut, Request, Schedule};
use crate::store::{BUILDER, Content, StoreError, TURN_COLUMNS, Writer};
use reprise_contract::Digest;

/// The part of a plan that one worker replays.
pub struct Shard {
    /// Its turns: row `n` is that of its request `n`. Sessions have the numbers that they have in the whole.
    pub content: Content,
    /// When they go.
    pub schedule: Schedule,
    /// The number of each request in the whole plan, ascending.
    pub numbers: Vec<u32>,
    /// Digest of the whole content.
    pub whole_content: Digest,
}

/// Bytes that are no shard.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// They could not be read.
    #[error("Cannot read the shard: {0}. Fetch it again.")]
    Io(#[from] io::Error),
    /// Cut off, or changed on the way.
    #[error(
        "Cannot use the shard: its bytes are not those that were written; it was cut off or changed on the way. Fetch it again."
    )]
    Damaged,
    /// Another version of Reprise wrote it.
    #[error("Cannot use the shard: {0}. Use a worker of the manager's version.")]
    OtherVersion(String),
    /// Arrow does not understand it.
    #[error("Cannot use the shard: {0}. Use a worker of the manager's version.")]
    Arrow(#[from] ArrowError),
    /// It contradicts itself.
    #[error("Cannot use the shard: {0}. This is a fault in Reprise.")]
    Contradiction(String),
    /// Its content could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a shard and keeps its content in `folder`. Looks at all bytes before it believes any, so the source is read twice.
///
/// # Errors
/// When the bytes are not those of a shard of this version, or the disk refuses.
pub fn read(mut source: impl Read + Seek, folder: &Path) -> Result<Shard, ShardError> {
    let length = check_digest(&mut source)?;
    source.rewind()?;
    let stream = StreamReader::try_new(source.take(length), None)?;
    let head = head(&stream)?;
    let mut writer = Writer::create(folder)?;
    let mut requests = Requests::default();
    for batch in stream {
        let batch = batch?;
        requests.add(&batch)?;
        let turns = batch.columns()[column::COUNT..].to_vec();
        writer.push_batch(&RecordBatch::try_new(TURN_COLUMNS.clone(), turns)?)?;
    }
    let there = requests.numbers.len();
    if there != head.requests as usize {
        return Err(ShardError::Contradiction(format!(
            "it has {there} requests where its head says {}",
            head.requests
        )));
    }
    let content = writer.finish(head.origin)?;
    Ok(Shard {
        content,
        schedule: Schedule {
            mode: head.mode,
            requests: requests.linked,
            left_out: LeftOut::default(),
        },
        numbers: requests.numbers,
        whole_content: head.content_digest,
    })
}

/// Holds the bytes against the digest at their end. Gives the length of what comes before that.
fn check_digest(source: &mut (impl Read + Seek)) -> Result<u64, ShardError> {
    let whole = source.seek(SeekFrom::End(0))?;
    let length = whole
        .checked_sub(DIGEST_BYTES as u64)
        .ok_or(ShardError::Damaged)?;
    source.rewind()?;
    let mut hashing = HashingWriter::new(io::sink());
    io::copy(&mut source.by_ref().take(length), &mut hashing)?;
    let (_, digest) = hashing.finish()?;
    let mut written = [0; DIGEST_BYTES];
    source.read_exact(&mut written)?;
    if *digest.as_bytes() == written {
        Ok(length)
    } else {
        Err(ShardError::Damaged)
    }
}

fn head<R: Read>(stream: &StreamReader<R>) -> Result<Head, ShardError> {
    let columns = stream.schema();
    let other = |what: String| ShardError::OtherVersion(what);
    let json = columns
        .metadata()
        .get(HEAD_KEY)
        .ok_or_else(|| other("it has no head".to_owned()))?;
    let head: Head =
        serde_json::from_str(json).map_err(|error| other(format!("its head is not understood: {error}")))?;
    if head.version != VERSION {
        return Err(other(format!(
            "it is of version {}, and this is {VERSION}",
            head.version
        )));
    }
    if head.builder != BUILDER {
        return Err(other(format!(
            "its content is of {}, and this is {BUILDER}",
            head.builder
        )));
    }
    if columns.fields() != COLUMNS.fields() {
        return Err(other("its columns are not those of this version".to_owned()));
    }
    Ok(head)
}

/// The requests so far.
#[derive(Default)]
struct Requests {
    numbers: Vec<u32>,
    linked: Vec<Request>,
    /// The latest request of each session.
    latest: HashMap<u32, u32>,
}

impl Requests {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), ShardError> {
        let numbers = batch.column(column::NUMBER).as_primitive::<UInt32Type>();
        let offsets = batch.column(column::OFFSET_NS).as_primitive::<Int64Type>();
        let delays = batch.column(column::DELAY_NS).as_primitive::<UInt64Type>();
        let warmup = batch.column(column::IS_WARMUP).as_boolean();
        let sessions = batch.column(column::COUNT).as_primitive::<UInt32Type>();
        for row in 0..batch.num_rows() {
            let number = numbers.value(row);
            if self.numbers.last().is_some_and(|last| *last >= number) {
                return Err(ShardError::Contradiction(format!(
                    "request {number} is out of order"
                )));
            }
            let index = u32::try_from(self.numbers.len())
                .map_err(|_| ShardError::Contradiction("it has too many requests".to_owned()))?;
            let previous = self.latest.insert(sessions.value(row), index);
            let place = previous.map_or(0, |previous| {
                let previous = &mut self.linked[previous as usize];
                previous.next = Some(index);
                previous.place + 1
            });
            self.numbers.push(number);
            self.linked.push(Request {
                turn: index,
                offset_ns: offsets.is_valid(row).then(|| offsets.value(row)),
                delay_ns: delays.value(row),
                next: None,
                place,
                is_warmup: warmup.value(row),
            });
        }
        Ok(())
    }
}
