//! A batch of outcomes on its way from a worker to the manager: an Arrow IPC stream in the columns of [`crate::outcome`], with
//! its head as JSON in the schema's metadata.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};
use serde::{Deserialize, Serialize};

use super::gathering::{ClockSample, Incarnation, Stop};
use crate::histogram::Histogram;
use crate::outcome::{self, Outcome, OutcomeError};

/// The key of the head in the schema's metadata.
const HEAD_KEY: &str = "reprise.batch";

/// Outcomes of a batch, at most.
pub const MAX_OUTCOMES: usize = 8_192;

/// What a batch says besides its outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BatchHead {
    /// Who measured.
    pub incarnation: Incarnation,
    /// Numbers the batches of an incarnation, from 0.
    pub number: u64,
    /// Every request of the shard that was due until this offset, in nanoseconds since T0, has its outcome in this batch or an
    /// earlier one. `None`: nothing is known yet.
    pub watermark_ns: Option<i64>,
    /// Requests of the shard that were sent so far, those in flight included.
    pub sent: u32,
    /// The worker's clock when T0 was, as it understood T0: what the times of outcomes are relative to. On the clock that
    /// [`ClockSample::local_ns`] is of.
    pub t0_local_ns: i64,
    /// Looks at the manager's clock since the last batch.
    pub clock: Vec<ClockSample>,
    /// The gaps between chunks of the measured and completed answers in this batch.
    pub gaps: Histogram,
    /// Whether it is the last: every request of the shard has its outcome.
    pub is_last: bool,
    /// Why this worker stops the run by itself, if it does.
    pub stopped: Option<Stop>,
    /// Whether this worker leaves the run early, as its system told it to: what it has not sent counts as lost with it.
    pub is_leaving: bool,
}

/// Bytes that are no batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Not an Arrow stream of these columns.
    #[error("Cannot read a batch of outcomes: {0}. Use a worker of the manager's version.")]
    Arrow(#[from] ArrowError),
    /// Columns or bytes that no batch has.
    #[error("Cannot read a batch of outcomes: {0}. Use a worker of the manager's version.")]
    Form(&'static str),
    /// The outcomes are none.
    #[error(transparent)]
    Outcomes(#[from] OutcomeError),
    /// No head, or not one of a batch.
    #[error("Cannot read a batch of outcomes: its head is {0}. Use a worker of the manager's version.")]
    Head(String),
    /// Too many rows.
    #[error("Cannot read a batch of outcomes: it has more than {MAX_OUTCOMES}. Send smaller ones.")]
    TooMany,
}

/// The bytes of a batch.
///
/// # Errors
/// When Arrow refuses, which no outcome provokes.
pub fn encode(head: &BatchHead, outcomes: &[Outcome]) -> Result<Vec<u8>, BatchError> {
    let json = serde_json::to_string(head).map_err(|error| BatchError::Head(error.to_string()))?;
    let metadata: HashMap<_, _> = [(HEAD_KEY.to_owned(), json)].into();
    let schema = Schema::new_with_metadata(outcome::schema().fields().clone(), metadata);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    if !outcomes.is_empty() {
        let batch = outcome::write_batch(outcomes)?;
        writer.write(&batch.with_schema(Arc::new(schema))?)?;
    }
    Ok(writer.into_inner()?)
}

/// Reads a batch.
///
/// # Errors
/// When the bytes are no batch, whatever they are.
pub fn decode(bytes: &[u8]) -> Result<(BatchHead, Vec<Outcome>), BatchError> {
    // Arrow answers some lies about where a buffer lies with a panic. These bytes come from outside: one bad batch must not be
    // more than that.
    std::panic::catch_unwind(|| decode_stream(bytes))
        .unwrap_or(Err(BatchError::Form("its bytes contradict themselves")))
}

fn decode_stream(bytes: &[u8]) -> Result<(BatchHead, Vec<Outcome>), BatchError> {
    let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let schema = reader.schema();
    if schema.fields() != outcome::schema().fields() {
        return Err(BatchError::Form("its columns are not those of outcomes"));
    }
    let json = schema
        .metadata()
        .get(HEAD_KEY)
        .ok_or_else(|| BatchError::Head("missing".to_owned()))?;
    let head = serde_json::from_str(json).map_err(|error| BatchError::Head(error.to_string()))?;
    let mut outcomes = Vec::new();
    for batch in reader {
        let batch = batch?;
        if outcomes.len() + batch.num_rows() > MAX_OUTCOMES {
            return Err(BatchError::TooMany);
        }
        outcomes.extend(outcome::read_batch(&batch)?);
    }
    Ok((head, outcomes))
}

#[cfg(test)]
mod tests;
