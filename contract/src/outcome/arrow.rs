//! Outcomes as an Arrow record batch, and back.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BooleanBuilder, Int64Builder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::{Ending, FailureCause, Gaps, NotSentReason, Outcome, Phase, Times, TokenSource, Tokens};

/// A batch that is not one of outcomes.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// A column is missing or has another type.
    #[error("Cannot read outcomes: column {0} is missing or of another type. Use a file that this version wrote.")]
    Column(&'static str),
    /// A word in a column is not one of ours.
    #[error("Cannot read outcomes: column {column} holds {word:?}. Use a file that this version wrote.")]
    Word {
        /// The column.
        column: &'static str,
        /// What it holds.
        word: String,
    },
    /// Arrow refused the columns.
    #[error("Cannot write outcomes: {0}. This is a fault in Reprise.")]
    Arrow(#[from] ArrowError),
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| Arc::new(Schema::new(fields())));

/// The columns of outcomes. Times are nanoseconds since T0.
#[must_use]
pub fn schema() -> SchemaRef {
    SCHEMA.clone()
}

fn fields() -> Vec<Field> {
    use DataType::{Boolean, Int64, UInt16, UInt32, UInt64, Utf8};
    let required = |name, data_type| Field::new(name, data_type, false);
    let optional = |name, data_type| Field::new(name, data_type, true);
    vec![
        required("request", UInt32),
        required("session", UInt32),
        required("turn", UInt32),
        optional("request_id", Utf8),
        required("warmup", Boolean),
        required("ending", Utf8),
        optional("cause", Utf8),
        optional("recorded_ns", Int64),
        optional("due_ns", Int64),
        optional("sent_ns", Int64),
        optional("headers_ns", Int64),
        optional("first_chunk_ns", Int64),
        optional("first_output_ns", Int64),
        optional("first_content_ns", Int64),
        optional("last_output_ns", Int64),
        optional("usage_ns", Int64),
        optional("done_ns", Int64),
        optional("connect_ns", UInt64),
        required("gap_count", UInt32),
        required("gap_sum_ns", UInt64),
        required("gap_min_ns", UInt64),
        required("gap_max_ns", UInt64),
        required("output_chunks", UInt32),
        optional("input_tokens", UInt32),
        optional("input_tokens_source", Utf8),
        optional("cached_tokens", UInt32),
        optional("output_tokens", UInt32),
        optional("output_tokens_source", Utf8),
        optional("requested_output_tokens", UInt32),
        optional("status", UInt16),
        optional("error", Utf8),
        required("request_bytes", UInt64),
        required("answer_bytes", UInt64),
        required("target", UInt16),
    ]
}

/// The outcomes as one record batch of [`schema`].
///
/// # Errors
/// [`OutcomeError::Arrow`], which no input provokes.
pub fn write_batch(outcomes: &[Outcome]) -> Result<RecordBatch, OutcomeError> {
    let times: [fn(&Times) -> Option<i64>; 10] = [
        |times| times.recorded,
        |times| times.due,
        |times| times.sent,
        |times| times.headers,
        |times| times.first_chunk,
        |times| times.first_output,
        |times| times.first_content,
        |times| times.last_output,
        |times| times.usage,
        |times| times.done,
    ];
    let mut columns: Vec<ArrayRef> = vec![
        u32s(outcomes, |outcome| Some(outcome.request)),
        u32s(outcomes, |outcome| Some(outcome.session)),
        u32s(outcomes, |outcome| Some(outcome.turn)),
        words(outcomes, |outcome| outcome.request_id.as_deref()),
        bools(outcomes, |outcome| outcome.phase == Phase::Warmup),
        words(outcomes, |outcome| Some(outcome.ending.name())),
        words(outcomes, |outcome| outcome.ending.cause()),
    ];
    columns.extend(times.map(|time| i64s(outcomes, |outcome| time(&outcome.times))));
    columns.extend([
        u64s(outcomes, |outcome| outcome.connect_ns),
        u32s(outcomes, |outcome| Some(outcome.gaps.count)),
        u64s(outcomes, |outcome| Some(outcome.gaps.sum_ns)),
        u64s(outcomes, |outcome| Some(outcome.gaps.min_ns)),
        u64s(outcomes, |outcome| Some(outcome.gaps.max_ns)),
        u32s(outcomes, |outcome| Some(outcome.output_chunks)),
        u32s(outcomes, |outcome| outcome.input_tokens.map(|tokens| tokens.count)),
        words(outcomes, |outcome| outcome.input_tokens.map(|tokens| tokens.source.name())),
        u32s(outcomes, |outcome| outcome.cached_tokens),
        u32s(outcomes, |outcome| outcome.output_tokens.map(|tokens| tokens.count)),
        words(outcomes, |outcome| outcome.output_tokens.map(|tokens| tokens.source.name())),
        u32s(outcomes, |outcome| outcome.requested_output_tokens),
        u16s(outcomes, |outcome| outcome.status),
        words(outcomes, |outcome| outcome.error.as_deref()),
        u64s(outcomes, |outcome| Some(outcome.request_bytes)),
        u64s(outcomes, |outcome| Some(outcome.answer_bytes)),
        u16s(outcomes, |outcome| Some(outcome.target)),
    ]);
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// The outcomes of a batch that [`write_batch`] made.
///
/// # Errors
/// When a column is missing, has another type, or holds a word that is not ours.
pub fn read_batch(batch: &RecordBatch) -> Result<Vec<Outcome>, OutcomeError> {
    let columns = Columns { batch };
    (0..batch.num_rows()).map(|row| columns.outcome(row)).collect()
}

struct Columns<'a> {
    batch: &'a RecordBatch,
}

impl Columns<'_> {
    fn outcome(&self, row: usize) -> Result<Outcome, OutcomeError> {
        Ok(Outcome {
            request: self.required::<UInt32Type>("request", row)?,
            session: self.required::<UInt32Type>("session", row)?,
            turn: self.required::<UInt32Type>("turn", row)?,
            request_id: self.word("request_id", row)?.map(str::to_owned),
            phase: if self.flag("warmup", row)? { Phase::Warmup } else { Phase::Measured },
            ending: self.ending(row)?,
            times: self.times(row)?,
            connect_ns: self.optional::<UInt64Type>("connect_ns", row)?,
            gaps: Gaps {
                count: self.required::<UInt32Type>("gap_count", row)?,
                sum_ns: self.required::<UInt64Type>("gap_sum_ns", row)?,
                min_ns: self.required::<UInt64Type>("gap_min_ns", row)?,
                max_ns: self.required::<UInt64Type>("gap_max_ns", row)?,
            },
            output_chunks: self.required::<UInt32Type>("output_chunks", row)?,
            input_tokens: self.tokens("input_tokens", "input_tokens_source", row)?,
            cached_tokens: self.optional::<UInt32Type>("cached_tokens", row)?,
            output_tokens: self.tokens("output_tokens", "output_tokens_source", row)?,
            requested_output_tokens: self.optional::<UInt32Type>("requested_output_tokens", row)?,
            status: self.optional::<UInt16Type>("status", row)?,
            error: self.word("error", row)?.map(str::to_owned),
            request_bytes: self.required::<UInt64Type>("request_bytes", row)?,
            answer_bytes: self.required::<UInt64Type>("answer_bytes", row)?,
            target: self.required::<UInt16Type>("target", row)?,
        })
    }

    fn times(&self, row: usize) -> Result<Times, OutcomeError> {
        let time = |name| self.optional::<Int64Type>(name, row);
        Ok(Times {
            recorded: time("recorded_ns")?,
            due: time("due_ns")?,
            sent: time("sent_ns")?,
            headers: time("headers_ns")?,
            first_chunk: time("first_chunk_ns")?,
            first_output: time("first_output_ns")?,
            first_content: time("first_content_ns")?,
            last_output: time("last_output_ns")?,
            usage: time("usage_ns")?,
            done: time("done_ns")?,
        })
    }

    fn ending(&self, row: usize) -> Result<Ending, OutcomeError> {
        let name = self.word("ending", row)?.unwrap_or_default();
        let cause = self.word("cause", row)?;
        Ending::from_words(name, cause).ok_or_else(|| OutcomeError::Word {
            column: "ending",
            word: format!("{name} {}", cause.unwrap_or_default()),
        })
    }

    fn tokens(
        &self,
        count: &'static str,
        source: &'static str,
        row: usize,
    ) -> Result<Option<Tokens>, OutcomeError> {
        let Some(count) = self.optional::<UInt32Type>(count, row)? else { return Ok(None) };
        let word = self.word(source, row)?.unwrap_or_default();
        let source = TokenSource::from_name(word)
            .ok_or_else(|| OutcomeError::Word { column: source, word: word.to_owned() })?;
        Ok(Some(Tokens { count, source }))
    }

    fn column(&self, name: &'static str) -> Result<&dyn Array, OutcomeError> {
        self.batch.column_by_name(name).map(|column| &**column).ok_or(OutcomeError::Column(name))
    }

    fn optional<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        row: usize,
    ) -> Result<Option<T::Native>, OutcomeError> {
        let column = self.column(name)?.as_primitive_opt::<T>().ok_or(OutcomeError::Column(name))?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn required<T: ArrowPrimitiveType>(
        &self,
        name: &'static str,
        row: usize,
    ) -> Result<T::Native, OutcomeError> {
        self.optional::<T>(name, row)?.ok_or(OutcomeError::Column(name))
    }

    fn word(&self, name: &'static str, row: usize) -> Result<Option<&str>, OutcomeError> {
        let column = self.column(name)?.as_string_opt::<i32>().ok_or(OutcomeError::Column(name))?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn flag(&self, name: &'static str, row: usize) -> Result<bool, OutcomeError> {
        Ok(self.column(name)?.as_boolean_opt().ok_or(OutcomeError::Column(name))?.value(row))
    }
}

macro_rules! column {
    ($name:ident, $value:ty, $builder:ty) => {
        fn $name(outcomes: &[Outcome], value: impl Fn(&Outcome) -> Option<$value>) -> ArrayRef {
            let mut builder = <$builder>::with_capacity(outcomes.len());
            outcomes.iter().for_each(|outcome| builder.append_option(value(outcome)));
            Arc::new(builder.finish())
        }
    };
}
column!(i64s, i64, Int64Builder);
column!(u64s, u64, UInt64Builder);
column!(u32s, u32, UInt32Builder);
column!(u16s, u16, UInt16Builder);

fn bools(outcomes: &[Outcome], value: impl Fn(&Outcome) -> bool) -> ArrayRef {
    let mut builder = BooleanBuilder::with_capacity(outcomes.len());
    outcomes.iter().for_each(|outcome| builder.append_value(value(outcome)));
    Arc::new(builder.finish())
}

fn words<'a>(outcomes: &'a [Outcome], value: impl Fn(&'a Outcome) -> Option<&'a str>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    outcomes.iter().for_each(|outcome| builder.append_option(value(outcome)));
    Arc::new(builder.finish())
}

/// Gives each variant of an enum its word, once for both directions.
macro_rules! words_of {
    ($type:ty { $($variant:path = $word:literal),+ $(,)? }) => {
        impl $type {
            /// The word that files use for it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($variant => $word),+ }
            }

            /// The variant that `word` stands for.
            #[must_use]
            pub fn from_name(word: &str) -> Option<Self> {
                match word { $($word => Some($variant),)+ _ => None }
            }
        }
    };
}

words_of!(FailureCause {
    FailureCause::Dns = "dns",
    FailureCause::ConnectionRefused = "connectionRefused",
    FailureCause::ConnectionFailed = "connectionFailed",
    FailureCause::Tls = "tls",
    FailureCause::ConnectionClosed = "connectionClosed",
    FailureCause::HttpStatus = "httpStatus",
    FailureCause::Timeout = "timeout",
    FailureCause::ErrorInAnswer = "errorInAnswer",
    FailureCause::InvalidAnswer = "invalidAnswer",
    FailureCause::AnswerTooLarge = "answerTooLarge",
});

words_of!(NotSentReason {
    NotSentReason::DurationOver = "durationOver",
    NotSentReason::RunCancelled = "runCancelled",
    NotSentReason::RunAborted = "runAborted",
    NotSentReason::AnswerMissing = "answerMissing",
});

words_of!(TokenSource {
    TokenSource::ServerUsage = "serverUsage",
    TokenSource::ServerTotal = "serverTotal",
    TokenSource::ChunkCount = "chunkCount",
    TokenSource::Trace = "trace",
});

impl Ending {
    /// The word that files use for it, without its cause.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
            Self::Dropped => "dropped",
            Self::NotSent(_) => "notSent",
        }
    }

    /// The word for its cause, where it has one.
    #[must_use]
    pub fn cause(self) -> Option<&'static str> {
        match self {
            Self::Failed(cause) => Some(cause.name()),
            Self::NotSent(reason) => Some(reason.name()),
            Self::Completed | Self::Cancelled | Self::Dropped => None,
        }
    }

    fn from_words(name: &str, cause: Option<&str>) -> Option<Self> {
        Some(match (name, cause) {
            ("completed", None) => Self::Completed,
            ("cancelled", None) => Self::Cancelled,
            ("dropped", None) => Self::Dropped,
            ("failed", Some(cause)) => Self::Failed(FailureCause::from_name(cause)?),
            ("notSent", Some(reason)) => Self::NotSent(NotSentReason::from_name(reason)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(request: u32, ending: Ending) -> Outcome {
        Outcome {
            request,
            session: 3,
            turn: 1,
            request_id: (request == 0).then(|| "req-42".to_owned()),
            phase: if request == 1 { Phase::Warmup } else { Phase::Measured },
            ending,
            times: Times { recorded: Some(-5), due: Some(10), sent: Some(12), ..Times::default() },
            connect_ns: Some(7),
            gaps: Gaps { count: 2, sum_ns: 30, min_ns: 10, max_ns: 20 },
            output_chunks: 3,
            input_tokens: Some(Tokens { count: 100, source: TokenSource::Trace }),
            cached_tokens: None,
            output_tokens: Some(Tokens { count: 3, source: TokenSource::ChunkCount }),
            requested_output_tokens: Some(4),
            status: Some(200),
            error: None,
            request_bytes: 1_234,
            answer_bytes: 5_678,
            target: 0,
        }
    }

    #[test]
    fn every_ending_survives_the_round_trip() {
        let endings = [
            Ending::Completed,
            Ending::Cancelled,
            Ending::Dropped,
            Ending::Failed(FailureCause::ConnectionRefused),
            Ending::Failed(FailureCause::AnswerTooLarge),
            Ending::NotSent(NotSentReason::DurationOver),
            Ending::NotSent(NotSentReason::AnswerMissing),
        ];
        let outcomes: Vec<_> = (0..).zip(endings).map(|(request, ending)| outcome(request, ending)).collect();
        let batch = write_batch(&outcomes).unwrap();
        assert_eq!(read_batch(&batch).unwrap(), outcomes);
    }

    #[test]
    fn a_batch_of_something_else_is_refused_by_column() {
        let batch = write_batch(&[outcome(0, Ending::Completed)]).unwrap();
        let error = read_batch(&batch.project(&[0, 1]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("column turn is missing"), "{error}");
    }

    #[test]
    fn columns_are_stable() {
        let columns: Vec<_> = schema()
            .fields()
            .iter()
            .map(|field| format!("{} {}{}", field.name(), field.data_type(), if field.is_nullable() { "?" } else { "" }))
            .collect();
        insta::assert_snapshot!(columns.join("\n"));
    }
}
