//! Writes a shard.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::wire::{COLUMNS, HEAD_KEY, Head, VERSION};
use crate::digest::HashingWriter;
use crate::schedule::{Request, Schedule};
use crate::store::Content;

/// Requests a batch, at most.
const BATCH_REQUESTS: usize = 4_096;
/// Bytes a batch, about; one request can be more.
const BATCH_BYTES: usize = 4 << 20;

/// Writes the part of a plan that has these requests, as indexes into the schedule in ascending order. Holds one batch in
/// memory at a time.
///
/// # Errors
/// When the sink refuses.
pub fn write(content: &Content, schedule: &Schedule, numbers: &[u32], sink: impl Write) -> io::Result<()> {
    let head = Head {
        version: VERSION,
        builder: content.head().builder.clone(),
        origin: content.head().origin.clone(),
        content_digest: content.digest(),
        mode: schedule.mode,
        requests: u32::try_from(numbers.len()).map_err(io::Error::other)?,
    };
    let metadata = HashMap::from([(HEAD_KEY.to_owned(), serde_json::to_string(&head)?)]);
    let columns = Arc::new(Schema::new_with_metadata(COLUMNS.fields().clone(), metadata));
    let sink = HashingWriter::new(sink);
    let mut stream = StreamWriter::try_new(sink, &columns).map_err(to_io)?;
    let mut rest = numbers;
    while !rest.is_empty() {
        let (batch, left) = rest.split_at(batch_length(content, schedule, rest)?);
        rest = left;
        let batch = rows(content, schedule, batch, columns.clone()).map_err(to_io)?;
        stream.write(&batch).map_err(to_io)?;
    }
    let (mut sink, digest) = stream.into_inner().map_err(to_io)?.finish()?;
    sink.write_all(digest.as_bytes())?;
    sink.flush()
}

/// How many of the first of these requests make the next batch. At least 1.
fn batch_length(content: &Content, schedule: &Schedule, numbers: &[u32]) -> io::Result<usize> {
    let mut bytes = 0;
    for (length, number) in numbers.iter().take(BATCH_REQUESTS).enumerate() {
        bytes += content.turn(request(schedule, *number)?.turn).stored_bytes();
        if bytes >= BATCH_BYTES {
            return Ok(length + 1);
        }
    }
    Ok(numbers.len().min(BATCH_REQUESTS))
}

fn rows(
    content: &Content,
    schedule: &Schedule,
    numbers: &[u32],
    columns: SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let requests = || numbers.iter().map(|number| &schedule.requests[*number as usize]);
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from(numbers.to_vec())),
        Arc::new(
            requests()
                .map(|request| request.offset_ns)
                .collect::<Int64Array>(),
        ),
        Arc::new(UInt64Array::from_iter_values(
            requests().map(|request| request.delay_ns),
        )),
        Arc::new(
            requests()
                .map(|request| Some(request.is_warmup))
                .collect::<BooleanArray>(),
        ),
    ];
    let turns: Vec<u32> = requests().map(|request| request.turn).collect();
    arrays.extend(content.rows(&turns)?.columns().iter().cloned());
    RecordBatch::try_new(columns, arrays)
}

fn request(schedule: &Schedule, number: u32) -> io::Result<&Request> {
    let request = schedule.requests.get(number as usize);
    request.ok_or_else(|| io::Error::other(format!("the schedule has no request {number}")))
}

/// What the sink said, if that is what it is.
fn to_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}
