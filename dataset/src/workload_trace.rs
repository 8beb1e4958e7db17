//! `workload_trace`: recorded request bodies with their arrival times.

use reprise_content::Turn;

use crate::count::{self, CountError, shortened};
use crate::facts::DatasetWarning;
use crate::format::Format;
use crate::headers::{self, Dropped, HeaderName, HeadersError};
use crate::json::{self, JsonError, Kind, Members};
use crate::options::Options;
use crate::position::Position;
use crate::read::{RecordReader, Remarks};
use crate::recorded_body::{Oddities, RecordedBody};
use crate::refusal::LineError;
use crate::timestamp::{self, TimestampError, TimestampUnit};

pub(crate) const COLUMNS: [&str; 5] = ["body", "timestamp", "headers", "request_id", "completion_tokens"];

/// Keys that another tool keeps its own notes under. In a recorded body they mean that the record is not what was sent.
const RESERVED_PREFIX: &str = "__evalscope_";

pub(crate) struct Reader {
    unit: TimestampUnit,
    keep_headers: Vec<HeaderName>,
    records: u32,
    previous_ns: Option<i64>,
    out_of_order: u64,
    dropped: Dropped,
    oddities: Oddities,
}

impl Reader {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            unit: options.unit(Format::WorkloadTrace),
            keep_headers: options.keep_headers.clone(),
            records: 0,
            previous_ns: None,
            out_of_order: 0,
            dropped: Dropped::default(),
            oddities: Oddities::default(),
        }
    }

    fn record(&mut self, position: &Position, record: &Members<'_>) -> Result<Turn, RecordError> {
        let body = read_body(record)?;
        let recorded_ns = timestamp::from_number_or_text(
            record.get_non_null("timestamp").ok_or(RecordError::NoTimestamp)?,
            self.unit,
        )?;
        let headers = match record.get_non_null("headers") {
            Some(value) => headers::select(value, &self.keep_headers, &mut self.dropped)?,
            None => Vec::new(),
        };
        let request_id = record
            .get_non_null("request_id")
            .map(read_request_id)
            .transpose()?
            .flatten();
        let output_tokens = record
            .get_non_null("completion_tokens")
            .map(read_completion_tokens)
            .transpose()?;

        self.out_of_order += u64::from(self.previous_ns.is_some_and(|previous| recorded_ns < previous));
        self.previous_ns = Some(recorded_ns);
        let session = self.records;
        self.records += 1;
        Ok(Turn {
            session,
            line: position.number(),
            recorded_ns: Some(recorded_ns),
            delay_ns: None,
            input_tokens: None,
            output_tokens,
            request_id,
            headers,
            is_constrained: body.is_constrained(),
            body: self.oddities.count(body),
        })
    }
}

impl RecordReader for Reader {
    fn turn(&mut self, position: &Position, record: &Members<'_>) -> Result<Turn, LineError> {
        Ok(self.record(position, record)?)
    }

    fn advice(&self) -> Option<String> {
        None
    }

    fn finish(self: Box<Self>) -> Remarks {
        let Dropped {
            credentials,
            of_the_connection,
            content_types,
        } = self.dropped;
        let warnings = [
            (!credentials.is_empty()).then_some(DatasetWarning::CredentialHeadersDropped(credentials)),
            (!of_the_connection.is_empty())
                .then_some(DatasetWarning::ConnectionHeadersDropped(of_the_connection)),
            (content_types > 0).then_some(DatasetWarning::ContentTypesDropped {
                records: content_types,
            }),
            (self.out_of_order > 0).then_some(DatasetWarning::RecordsOutOfOrder {
                records: self.out_of_order,
            }),
        ];
        Remarks {
            is_synthesised: false,
            warnings: warnings
                .into_iter()
                .flatten()
                .chain(self.oddities.warnings())
                .collect(),
        }
    }
}

/// The body is an object, or a string that holds one.
fn read_body(record: &Members<'_>) -> Result<RecordedBody, RecordError> {
    let value = record.get_non_null("body").ok_or(RecordError::NoBody)?;
    match Kind::of(value) {
        Kind::Object => cut(value),
        Kind::String => {
            let text = json::string(value).ok_or(RecordError::BodyNotText)?;
            if Kind::of(&text) == Kind::String && json::string(&text).is_some() {
                return Err(RecordError::BodyEncodedTwice);
            }
            cut(&text)
        }
        kind => Err(RecordError::BodyKind { kind }),
    }
}

fn cut(body: &str) -> Result<RecordedBody, RecordError> {
    let members = Members::parse(body).map_err(RecordError::Body)?;
    match members
        .iter()
        .find(|member| member.key.starts_with(RESERVED_PREFIX))
    {
        Some(member) => Err(RecordError::ReservedKey {
            key: shortened(&member.key),
        }),
        None => Ok(RecordedBody::cut_members(body, &members)),
    }
}

/// An empty id is none.
fn read_request_id(value: &str) -> Result<Option<String>, RecordError> {
    match Kind::of(value) {
        Kind::String => {
            let id = json::string(value).ok_or(RecordError::RequestIdNotText)?;
            Ok((!id.is_empty()).then(|| id.into_owned()))
        }
        kind => Err(RecordError::RequestIdKind { kind }),
    }
}

/// A whole number, or a string that holds one.
fn read_completion_tokens(value: &str) -> Result<u32, RecordError> {
    let number = match Kind::of(value) {
        Kind::Number => value.into(),
        Kind::String => {
            json::string(value).ok_or(RecordError::CompletionTokensKind { kind: Kind::String })?
        }
        kind => return Err(RecordError::CompletionTokensKind { kind }),
    };
    Ok(count::parse(number.trim_ascii())?)
}

/// What is wrong with a record. Prints without the full stop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("body is missing. Add the recorded request body, as an object or as a string that holds one")]
    NoBody,
    #[error("body is {kind}. Write the recorded request body, as an object or as a string that holds one")]
    BodyKind { kind: Kind },
    #[error(
        "body is a string with escapes that name no character. Write the recorded request body as an object"
    )]
    BodyNotText,
    #[error(
        "body is a string that holds a string: it was encoded twice. Encode it once, or write it as an object"
    )]
    BodyEncodedTwice,
    #[error("body: {0}")]
    Body(JsonError),
    #[error(
        "body has the reserved key {key:?}, which EvalScope keeps its own notes under. Remove it from the body"
    )]
    ReservedKey { key: String },
    #[error("timestamp is missing. Add the arrival time, as a number or an ISO 8601 string")]
    NoTimestamp,
    #[error("timestamp {0}")]
    Timestamp(#[from] TimestampError),
    #[error(transparent)]
    Headers(#[from] HeadersError),
    #[error("request_id is {kind}. Write a string, or null")]
    RequestIdKind { kind: Kind },
    #[error("request_id has escapes that name no character. Write it without them")]
    RequestIdNotText,
    #[error("completion_tokens is {kind}. Write a whole number of tokens, at least 1")]
    CompletionTokensKind { kind: Kind },
    #[error("completion_tokens {0}")]
    CompletionTokens(#[from] CountError),
}
