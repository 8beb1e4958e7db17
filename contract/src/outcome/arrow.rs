//! Outcomes as an Arrow record batch, and back.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BooleanBuilder, Int64Builder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::{Ending, FailureCause, Gaps, NotSentReason, Outcome, Phase, Times, TokenSource, Tokens};

/// A batch that is not one of outcomes.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// A column is missing, has another type, or has holes where none may be.
    #[error(
        "Cannot read outcomes: column {0} is missing or of another type. Use a file that this version wrote."
    )]
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
        required("worker", UInt32),
        optional("clock_error_ns", Int64),
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
        u32s(outcomes, |outcome| {
            outcome.input_tokens.map(|tokens| tokens.count)
        }),
        words(outcomes, |outcome| {
            outcome.input_tokens.map(|tokens| tokens.source.name())
        }),
        u32s(outcomes, |outcome| outcome.cached_tokens),
        u32s(outcomes, |outcome| {
            outcome.output_tokens.map(|tokens| tokens.count)
        }),
        words(outcomes, |outcome| {
            outcome.output_tokens.map(|tokens| tokens.source.name())
        }),
        u32s(outcomes, |outcome| outcome.requested_output_tokens),
        u16s(outcomes, |outcome| outcome.status),
        words(outcomes, |outcome| outcome.error.as_deref()),
        u64s(outcomes, |outcome| Some(outcome.request_bytes)),
        u64s(outcomes, |outcome| Some(outcome.answer_bytes)),
        u16s(outcomes, |outcome| Some(outcome.target)),
        u32s(outcomes, |outcome| Some(outcome.worker)),
        i64s(outcomes, |outcome| outcome.clock_error_ns),
    ]);
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// The outcomes of a batch that [`write_batch`] made.
///
/// # Errors
/// When a column is missing, has another type, or holds a word that is not ours.
pub fn read_batch(batch: &RecordBatch) -> Result<Vec<Outcome>, OutcomeError> {
    let columns = Columns::of(batch)?;
    (0..batch.num_rows()).map(|row| columns.outcome(row)).collect()
}

/// The columns of a batch, looked up and checked once.
struct Columns<'a> {
    request: &'a UInt32Array,
    session: &'a UInt32Array,
    turn: &'a UInt32Array,
    request_id: &'a StringArray,
    warmup: &'a BooleanArray,
    ending: &'a StringArray,
    cause: &'a StringArray,
    recorded: &'a Int64Array,
    due: &'a Int64Array,
    sent: &'a Int64Array,
    headers: &'a Int64Array,
    first_chunk: &'a Int64Array,
    first_output: &'a Int64Array,
    first_content: &'a Int64Array,
    last_output: &'a Int64Array,
    usage: &'a Int64Array,
    done: &'a Int64Array,
    connect: &'a UInt64Array,
    gap_count: &'a UInt32Array,
    gap_sum: &'a UInt64Array,
    gap_min: &'a UInt64Array,
    gap_max: &'a UInt64Array,
    output_chunks: &'a UInt32Array,
    input_tokens: TokenColumns<'a>,
    cached_tokens: &'a UInt32Array,
    output_tokens: TokenColumns<'a>,
    requested_output_tokens: &'a UInt32Array,
    status: &'a UInt16Array,
    error: &'a StringArray,
    request_bytes: &'a UInt64Array,
    answer_bytes: &'a UInt64Array,
    target: &'a UInt16Array,
    worker: &'a UInt32Array,
    clock_error: &'a Int64Array,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, OutcomeError> {
        Ok(Self {
            request: required(batch, "request")?,
            session: required(batch, "session")?,
            turn: required(batch, "turn")?,
            request_id: column(batch, "request_id")?,
            warmup: required(batch, "warmup")?,
            ending: required(batch, "ending")?,
            cause: column(batch, "cause")?,
            recorded: column(batch, "recorded_ns")?,
            due: column(batch, "due_ns")?,
            sent: column(batch, "sent_ns")?,
            headers: column(batch, "headers_ns")?,
            first_chunk: column(batch, "first_chunk_ns")?,
            first_output: column(batch, "first_output_ns")?,
            first_content: column(batch, "first_content_ns")?,
            last_output: column(batch, "last_output_ns")?,
            usage: column(batch, "usage_ns")?,
            done: column(batch, "done_ns")?,
            connect: column(batch, "connect_ns")?,
            gap_count: required(batch, "gap_count")?,
            gap_sum: required(batch, "gap_sum_ns")?,
            gap_min: required(batch, "gap_min_ns")?,
            gap_max: required(batch, "gap_max_ns")?,
            output_chunks: required(batch, "output_chunks")?,
            input_tokens: TokenColumns::of(batch, "input_tokens", "input_tokens_source")?,
            cached_tokens: column(batch, "cached_tokens")?,
            output_tokens: TokenColumns::of(batch, "output_tokens", "output_tokens_source")?,
            requested_output_tokens: column(batch, "requested_output_tokens")?,
            status: column(batch, "status")?,
            error: column(batch, "error")?,
            request_bytes: required(batch, "request_bytes")?,
            answer_bytes: required(batch, "answer_bytes")?,
            target: required(batch, "target")?,
            worker: required(batch, "worker")?,
            clock_error: column(batch, "clock_error_ns")?,
        })
    }

    fn outcome(&self, row: usize) -> Result<Outcome, OutcomeError> {
        Ok(Outcome {
            request: self.request.value(row),
            session: self.session.value(row),
            turn: self.turn.value(row),
            request_id: word(self.request_id, row).map(str::to_owned),
            phase: if self.warmup.value(row) {
                Phase::Warmup
            } else {
                Phase::Measured
            },
            ending: self.ending(row)?,
            times: self.times(row),
            connect_ns: number(self.connect, row),
            gaps: Gaps {
                count: self.gap_count.value(row),
                sum_ns: self.gap_sum.value(row),
                min_ns: self.gap_min.value(row),
                max_ns: self.gap_max.value(row),
            },
            output_chunks: self.output_chunks.value(row),
            input_tokens: self.input_tokens.tokens(row)?,
            cached_tokens: number(self.cached_tokens, row),
            output_tokens: self.output_tokens.tokens(row)?,
            requested_output_tokens: number(self.requested_output_tokens, row),
            status: number(self.status, row),
            error: word(self.error, row).map(str::to_owned),
            request_bytes: self.request_bytes.value(row),
            answer_bytes: self.answer_bytes.value(row),
            target: self.target.value(row),
            worker: self.worker.value(row),
            clock_error_ns: number(self.clock_error, row),
        })
    }

    fn times(&self, row: usize) -> Times {
        Times {
            recorded: number(self.recorded, row),
            due: number(self.due, row),
            sent: number(self.sent, row),
            headers: number(self.headers, row),
            first_chunk: number(self.first_chunk, row),
            first_output: number(self.first_output, row),
            first_content: number(self.first_content, row),
            last_output: number(self.last_output, row),
            usage: number(self.usage, row),
            done: number(self.done, row),
        }
    }

    fn ending(&self, row: usize) -> Result<Ending, OutcomeError> {
        let name = self.ending.value(row);
        let cause = word(self.cause, row);
        Ending::from_words(name, cause).ok_or_else(|| OutcomeError::Word {
            column: "ending",
            word: format!("{name} {}", cause.unwrap_or_default()),
        })
    }
}

/// A count of tokens and its source.
struct TokenColumns<'a> {
    count: &'a UInt32Array,
    source: &'a StringArray,
    source_name: &'static str,
}

impl<'a> TokenColumns<'a> {
    fn of(batch: &'a RecordBatch, count: &'static str, source: &'static str) -> Result<Self, OutcomeError> {
        Ok(Self {
            count: column(batch, count)?,
            source: column(batch, source)?,
            source_name: source,
        })
    }

    fn tokens(&self, row: usize) -> Result<Option<Tokens>, OutcomeError> {
        let Some(count) = number(self.count, row) else {
            return Ok(None);
        };
        let word = word(self.source, row).unwrap_or_default();
        let source = TokenSource::from_name(word).ok_or_else(|| OutcomeError::Word {
            column: self.source_name,
            word: word.to_owned(),
        })?;
        Ok(Some(Tokens { count, source }))
    }
}

fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a T, OutcomeError> {
    let column = batch.column_by_name(name).ok_or(OutcomeError::Column(name))?;
    column.as_any().downcast_ref().ok_or(OutcomeError::Column(name))
}

fn required<'a, T: Array + 'static>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a T, OutcomeError> {
    let column = column::<T>(batch, name)?;
    if column.null_count() > 0 {
        Err(OutcomeError::Column(name))
    } else {
        Ok(column)
    }
}

fn number<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

fn word(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

macro_rules! builder {
    ($name:ident, $value:ty, $builder:ty) => {
        fn $name(outcomes: &[Outcome], value: impl Fn(&Outcome) -> Option<$value>) -> ArrayRef {
            let mut builder = <$builder>::with_capacity(outcomes.len());
            for outcome in outcomes {
                builder.append_option(value(outcome));
            }
            Arc::new(builder.finish())
        }
    };
}
builder!(i64s, i64, Int64Builder);
builder!(u64s, u64, UInt64Builder);
builder!(u32s, u32, UInt32Builder);
builder!(u16s, u16, UInt16Builder);

fn bools(outcomes: &[Outcome], value: impl Fn(&Outcome) -> bool) -> ArrayRef {
    let mut builder = BooleanBuilder::with_capacity(outcomes.len());
    for outcome in outcomes {
        builder.append_value(value(outcome));
    }
    Arc::new(builder.finish())
}

fn words<'a>(outcomes: &'a [Outcome], value: impl Fn(&'a Outcome) -> Option<&'a str>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for outcome in outcomes {
        builder.append_option(value(outcome));
    }
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
    FailureCause::LocalLimit = "localLimit",
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
    NotSentReason::DeadlinePassed = "deadlinePassed",
    NotSentReason::WorkerLost = "workerLost",
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
            phase: if request == 1 {
                Phase::Warmup
            } else {
                Phase::Measured
            },
            ending,
            times: Times {
                recorded: Some(-5),
                due: Some(10),
                sent: Some(12),
                ..Times::default()
            },
            connect_ns: Some(7),
            gaps: Gaps {
                count: 2,
                sum_ns: 30,
                min_ns: 10,
                max_ns: 20,
            },
            output_chunks: 3,
            input_tokens: Some(Tokens {
                count: 100,
                source: TokenSource::Trace,
            }),
            cached_tokens: None,
            output_tokens: Some(Tokens {
                count: 3,
                source: TokenSource::ChunkCount,
            }),
            requested_output_tokens: Some(4),
            status: Some(200),
            error: None,
            request_bytes: 1_234,
            answer_bytes: 5_678,
            target: 0,
            worker: 7,
            clock_error_ns: (request == 2).then_some(-31),
        }
    }

    #[test]
    fn every_ending_survives_the_round_trip() {
        let endings = [
            Ending::Completed,
            Ending::Cancelled,
            Ending::Dropped,
            Ending::Failed(FailureCause::ConnectionRefused),
            Ending::Failed(FailureCause::LocalLimit),
            Ending::Failed(FailureCause::AnswerTooLarge),
            Ending::NotSent(NotSentReason::DurationOver),
            Ending::NotSent(NotSentReason::AnswerMissing),
            Ending::NotSent(NotSentReason::DeadlinePassed),
            Ending::NotSent(NotSentReason::WorkerLost),
        ];
        let outcomes: Vec<_> = (0..)
            .zip(endings)
            .map(|(request, ending)| outcome(request, ending))
            .collect();
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
            .map(|field| {
                format!(
                    "{} {}{}",
                    field.name(),
                    field.data_type(),
                    if field.is_nullable() { "?" } else { "" }
                )
            })
            .collect();
        insta::assert_snapshot!(columns.join("\n"));
    }
}
