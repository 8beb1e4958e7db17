//! The rows of Parquet files, one after the other.

use std::fs::File;
use std::slice;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::cell::Row;
use super::{ParquetError, ParquetShard, columns};
use crate::position::{Position, Shard};
use crate::records::{Record, Records, RecordsError};
use crate::refusal::LineError;

/// Rows decoded at a time. Few, since a row may hold a whole conversation.
const BATCH_ROWS: usize = 256;

/// The rows of a trace in Parquet, as records.
pub(crate) struct Rows<'a> {
    shards: slice::Iter<'a, ParquetShard>,
    open: Option<OpenShard>,
    /// The number of the row last read, from 1 over all shards.
    number: u32,
    /// Its JSON.
    json: Vec<u8>,
}

struct OpenShard {
    shard: Arc<Shard>,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    /// The row of the batch that comes next.
    row: usize,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(shards: &'a [ParquetShard]) -> Self {
        Self {
            shards: shards.iter(),
            open: None,
            number: 0,
            json: Vec::new(),
        }
    }

    /// Writes the next row's JSON. `None` after the last row.
    fn advance(&mut self) -> Result<Option<(Position, serde_json::Result<()>)>, RecordsError> {
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => match self.shards.next() {
                    Some(shard) => self.open.insert(OpenShard::open(shard, self.number)?),
                    None => return Ok(None),
                },
            };
            let Some(row) = open.next_row()? else {
                self.open = None;
                continue;
            };
            self.number = self.number.checked_add(1).ok_or(RecordsError::TooMany)?;
            self.json.clear();
            let written = serde_json::to_writer(&mut self.json, &row);
            return Ok(Some((Position::row(self.number, &open.shard), written)));
        }
    }
}

impl Records for Rows<'_> {
    fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        let Some((position, written)) = self.advance()? else {
            return Ok(None);
        };
        let text = match written {
            Ok(()) => std::str::from_utf8(&self.json).map_err(|error| LineError::NotUtf8 {
                byte: error.valid_up_to() + 1,
            }),
            Err(error) => Err(LineError::Row(error)),
        };
        Ok(Some(Record { position, text }))
    }

    fn blank_lines(&self) -> u32 {
        0
    }
}

impl OpenShard {
    fn open(shard: &ParquetShard, rows_before: u32) -> Result<Self, ParquetError> {
        let damaged = |error: parquet::errors::ParquetError| ParquetError::Damaged {
            file: shard.name.clone(),
            detail: error.to_string(),
        };
        let failed = |error| ParquetError::Io {
            path: shard.path.clone(),
            error,
        };
        let file = File::open(&shard.path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            return Err(ParquetError::NoBytes {
                file: shard.name.clone(),
            });
        }
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
        let refused = columns::refused(builder.schema().fields());
        if !refused.is_empty() {
            return Err(ParquetError::Columns {
                file: shard.name.clone(),
                columns: refused,
            });
        }
        Ok(Self {
            batches: builder.with_batch_size(BATCH_ROWS).build().map_err(damaged)?,
            shard: Arc::new(Shard {
                name: shard.name.clone(),
                rows_before,
            }),
            batch: None,
            row: 0,
        })
    }

    /// `None` after the last row.
    fn next_row(&mut self) -> Result<Option<Row<'_>>, ParquetError> {
        while self
            .batch
            .as_ref()
            .is_none_or(|batch| self.row >= batch.num_rows())
        {
            let next = self.batches.next().transpose();
            self.batch = next.map_err(|error| ParquetError::Damaged {
                file: self.shard.name.clone(),
                detail: error.to_string(),
            })?;
            self.row = 0;
            if self.batch.is_none() {
                break;
            }
        }
        let row = self.row;
        self.row += 1;
        Ok(self.batch.as_ref().map(|batch| Row { batch, row }))
    }
}
