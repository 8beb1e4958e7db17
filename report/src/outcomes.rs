//! `outcomes.parquet`: every outcome of a run, in the columns of [`reprise_contract::outcome::schema`].

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, new_null_array};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use reprise_contract::Outcome;
use reprise_contract::outcome::{OutcomeError, read_batch, schema, write_batch};

use crate::atomic::{PendingFile, WriteError};

/// Rows of a row group: what the writer holds in memory before it goes to the disk.
const ROW_GROUP_ROWS: usize = 65_536;
/// Outcomes of a batch that the reader hands out.
const BATCH_ROWS: usize = 8_192;
/// Columns of a few words or numbers that repeat.
const REPETITIVE: [&str; 9] = [
    "ending",
    "cause",
    "input_tokens_source",
    "output_tokens_source",
    "requested_output_tokens",
    "status",
    "error",
    "target",
    "worker",
];
/// Columns that no number is made of.
const BESIDE_NUMBERS: [&str; 5] = ["request_id", "headers_ns", "first_chunk_ns", "usage_ns", "status"];
/// Columns of numbers that differ little from row to row.
const GRADUAL: [&str; 15] = [
    "request",
    "session",
    "turn",
    "recorded_ns",
    "due_ns",
    "sent_ns",
    "headers_ns",
    "first_chunk_ns",
    "first_output_ns",
    "first_content_ns",
    "last_output_ns",
    "usage_ns",
    "done_ns",
    "connect_ns",
    "clock_error_ns",
];

/// A file of outcomes that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeFileError {
    /// The file could not be created or published.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Parquet could not be written.
    #[error("Cannot write {}: {source}. Check that the disk has room.", path.display())]
    Encode {
        /// The file's final path.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
    /// The file cannot be opened.
    #[error("Cannot read {}: {source}. Name a file that a run has written.", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not Parquet, or damaged.
    #[error("Cannot read {}: {source}. Name a file that a run has written.", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: ParquetError,
    },
    /// The file's rows are not outcomes.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
}

/// Writes outcomes as they arrive, a row group at a time. The file appears under its name when it is finished; a writer
/// that is dropped before leaves nothing behind.
#[derive(Debug)]
pub struct OutcomeWriter {
    path: PathBuf,
    writer: ArrowWriter<PendingFile>,
}

impl OutcomeWriter {
    /// Starts the file that will be `path`.
    ///
    /// # Errors
    /// When the folder does not exist or is not writable.
    pub fn create(path: &Path) -> Result<Self, OutcomeFileError> {
        let file = PendingFile::create(path)?;
        let writer = ArrowWriter::try_new(file, schema(), Some(properties())).map_err(|source| {
            OutcomeFileError::Encode {
                path: path.to_owned(),
                source,
            }
        })?;
        Ok(Self {
            path: path.to_owned(),
            writer,
        })
    }

    /// Adds outcomes, in any order and number.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn append(&mut self, outcomes: &[Outcome]) -> Result<(), OutcomeFileError> {
        for part in outcomes.chunks(BATCH_ROWS) {
            let batch = write_batch(part)?;
            self.writer
                .write(&batch)
                .map_err(|source| OutcomeFileError::Encode {
                    path: self.path.clone(),
                    source,
                })?;
        }
        Ok(())
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// When the disk is full, or the file cannot be renamed.
    pub fn finish(self) -> Result<PathBuf, OutcomeFileError> {
        let file = self
            .writer
            .into_inner()
            .map_err(|source| OutcomeFileError::Encode {
                path: self.path,
                source,
            })?;
        Ok(file.publish()?)
    }
}

fn properties() -> WriterProperties {
    let builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_dictionary_enabled(false);
    let builder = REPETITIVE.into_iter().fold(builder, |builder, name| {
        builder.set_column_dictionary_enabled(ColumnPath::from(name), true)
    });
    GRADUAL
        .into_iter()
        .fold(builder, |builder, name| {
            builder.set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED)
        })
        .build()
}

/// Reads a file of outcomes, a batch at a time.
#[derive(Debug)]
pub struct OutcomeReader {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
}

impl OutcomeReader {
    /// Opens the file.
    ///
    /// # Errors
    /// When it cannot be read or is not Parquet.
    pub fn open(path: &Path) -> Result<Self, OutcomeFileError> {
        Self::open_columns(path, |_| true)
    }

    /// Opens the file for what numbers are made of: `request_id`, `status` and the times of headers, first chunk and usage are
    /// not read and are `None`.
    pub(crate) fn for_numbers(path: &Path) -> Result<Self, OutcomeFileError> {
        Self::open_columns(path, |name| !BESIDE_NUMBERS.contains(&name))
    }

    fn open_columns(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Self, OutcomeFileError> {
        let file = File::open(path).map_err(|source| OutcomeFileError::Open {
            path: path.to_owned(),
            source,
        })?;
        let batches = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| {
                let columns = builder.parquet_schema();
                let names = columns.columns().iter().map(|column| column.name());
                let wanted = names.enumerate().filter(|(_, name)| is_wanted(name));
                let wanted = ProjectionMask::leaves(columns, wanted.map(|(index, _)| index));
                builder
                    .with_projection(wanted)
                    .with_batch_size(BATCH_ROWS)
                    .build()
            })
            .map_err(|source| OutcomeFileError::Decode {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            path: path.to_owned(),
            batches,
        })
    }
}

impl Iterator for OutcomeReader {
    type Item = Result<Vec<Outcome>, OutcomeFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(
            batch
                .map_err(|source| OutcomeFileError::Decode {
                    path: self.path.clone(),
                    source: ParquetError::from(source),
                })
                .and_then(|batch| Ok(read_batch(&with_all_columns(&batch)?)?)),
        )
    }
}

/// The batch with empty columns in place of those that were not read. A column that may not be empty stays missing, which
/// [`read_batch`] refuses.
fn with_all_columns(batch: &RecordBatch) -> Result<RecordBatch, OutcomeError> {
    let all = schema();
    let fields = all.fields().iter().filter_map(|field| {
        let column = batch.column_by_name(field.name()).cloned();
        let empty = || new_null_array(field.data_type(), batch.num_rows());
        let column = column.or_else(|| BESIDE_NUMBERS.contains(&field.name().as_str()).then(empty))?;
        Some((field.name(), column, field.is_nullable()))
    });
    Ok(RecordBatch::try_from_iter_with_nullable(
        fields.collect::<Vec<_>>(),
    )?)
}

#[cfg(test)]
mod tests {
    use reprise_contract::outcome::Times;
    use reprise_contract::{Ending, FailureCause, NotSentReason};

    use super::*;
    use crate::fixtures;

    #[test]
    fn outcomes_survive_the_round_trip_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcomes.parquet");
        let mut outcomes = fixtures::streamed(0..70_000);
        outcomes[7].ending = Ending::Failed(FailureCause::ConnectionClosed);
        outcomes[7].error = Some("connection reset by peer".to_owned());
        outcomes[8].ending = Ending::NotSent(NotSentReason::AnswerMissing);
        outcomes[8].times = Times {
            recorded: Some(i64::MIN),
            due: Some(i64::MAX),
            ..Times::default()
        };

        let mut writer = OutcomeWriter::create(&path).unwrap();
        writer.append(&outcomes[..9]).unwrap();
        writer.append(&[]).unwrap();
        writer.append(&outcomes[9..]).unwrap();
        assert!(!path.exists(), "nothing under its name before it is whole");
        assert_eq!(writer.finish().unwrap(), path);

        let read: Vec<_> = OutcomeReader::open(&path)
            .unwrap()
            .flat_map(Result::unwrap)
            .collect();
        assert!(read == outcomes);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_no_number_is_made_of_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcomes.parquet");
        let mut outcomes = fixtures::streamed(0..3);
        outcomes[1].request_id = Some("r".to_owned());
        let mut writer = OutcomeWriter::create(&path).unwrap();
        writer.append(&outcomes).unwrap();
        writer.finish().unwrap();
        for outcome in &mut outcomes {
            outcome.request_id = None;
            outcome.status = None;
            outcome.times = Times {
                headers: None,
                first_chunk: None,
                usage: None,
                ..outcome.times
            };
        }
        let read: Vec<_> = OutcomeReader::for_numbers(&path)
            .unwrap()
            .flat_map(Result::unwrap)
            .collect();
        assert_eq!(read, outcomes);
    }

    #[test]
    fn no_outcomes_are_a_file_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcomes.parquet");
        OutcomeWriter::create(&path).unwrap().finish().unwrap();
        assert_eq!(OutcomeReader::open(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_dropped_writer_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = OutcomeWriter::create(&folder.path().join("outcomes.parquet")).unwrap();
        writer.append(&fixtures::streamed(0..10)).unwrap();
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_writer_holds_no_more_than_a_row_group() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = OutcomeWriter::create(&folder.path().join("outcomes.parquet")).unwrap();
        let rows = u32::try_from(ROW_GROUP_ROWS).unwrap();
        for start in 0..3 {
            writer
                .append(&fixtures::streamed(start * rows..(start + 1) * rows))
                .unwrap();
            assert!(writer.writer.in_progress_rows() <= ROW_GROUP_ROWS);
            assert!(
                writer.writer.memory_size() < 32 << 20,
                "{} bytes",
                writer.writer.memory_size()
            );
        }
        assert_eq!(writer.writer.flushed_row_groups().len(), 3);
    }

    #[test]
    fn every_named_column_exists() {
        for name in REPETITIVE.into_iter().chain(GRADUAL) {
            assert!(schema().column_with_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcomes.parquet");
        let missing = OutcomeReader::open(&path).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with(&format!("Cannot read {}", path.display())),
            "{missing}"
        );
        std::fs::write(&path, "not parquet").unwrap();
        let damaged = OutcomeReader::open(&path).unwrap_err();
        assert!(matches!(damaged, OutcomeFileError::Decode { .. }), "{damaged}");
    }
}
