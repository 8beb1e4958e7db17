//! What can be wrong with a record.

use std::ops::RangeInclusive;

use crate::count::CountError;
use crate::facts::sizes_text;
use crate::json::{JsonError, Kind};
use crate::position::Position;
use crate::timestamp::TimestampError;

/// What is wrong with a record. Prints without the full stop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error(
        "none of input_length, text_input, messages and payload is there. Add the one that says what to send"
    )]
    NoInput,
    #[error("{one} and {other} are both there. Keep one of input_length, text_input, messages and payload")]
    TwoInputs { one: &'static str, other: &'static str },
    #[error("hash_ids go only with input_length. Remove them, or give the length")]
    HashIdsWithoutLength,
    #[error("tools go only with messages. Remove them, or put them into extra")]
    ToolsWithoutMessages,
    #[error("input_length is {kind}. Write a whole number of tokens, at least 1")]
    InputLengthKind { kind: Kind },
    #[error("input_length {0}")]
    InputLength(CountError),
    #[error("output_length is {kind}. Write a whole number of tokens, at least 1")]
    OutputLengthKind { kind: Kind },
    #[error("output_length {0}")]
    OutputLength(CountError),
    #[error("hash_ids is {kind}. Write a list of whole numbers")]
    HashIdsKind { kind: Kind },
    #[error("hash_ids[{index}] is {text}. Write a whole number from 0 to 9,223,372,036,854,775,807")]
    HashId { index: usize, text: String },
    #[error(
        "{ids} hash ids of {block_size} tokens go beyond the input_length of {input_length}, where {} would do. {}",
        input_length.div_ceil(*block_size), fitting(fits.as_ref())
    )]
    TooManyHashIds {
        ids: usize,
        block_size: u32,
        input_length: u32,
        fits: Option<RangeInclusive<u32>>,
    },
    #[error("text_input is {kind}. Write the prompt as a string")]
    TextKind { kind: Kind },
    #[error("text_input has escapes that name no character. Write the prompt without them")]
    TextNotText,
    #[error("text_input is empty. Write a prompt, or remove the record")]
    TextEmpty,
    #[error("messages is {kind}. Write a list of objects with a role")]
    MessagesKind { kind: Kind },
    #[error("messages is an empty list. Write at least one message, or remove the record")]
    MessagesEmpty,
    #[error("messages[{index}] is {kind}. Write an object with a role")]
    MessageKind { index: usize, kind: Kind },
    #[error("messages[{index}]: {source}")]
    Message { index: usize, source: JsonError },
    #[error("messages[{index}] has no role. Add one, such as user")]
    MessageWithoutRole { index: usize },
    #[error("messages[{index}].role is {kind}. Write a string, such as user")]
    RoleKind { index: usize, kind: Kind },
    #[error("tools is {kind}. Write a list")]
    ToolsKind { kind: Kind },
    #[error("payload is {kind}. Write the request body as an object")]
    PayloadKind { kind: Kind },
    #[error("payload: {0}")]
    Payload(JsonError),
    #[error("extra is {kind}. Write an object")]
    ExtraKind { kind: Kind },
    #[error("extra: {0}")]
    Extra(JsonError),
    #[error("extra holds {key:?}, which would replace what the record says. Remove it from extra")]
    ExtraReplacesInput { key: String },
    #[error("timestamp {0}")]
    Timestamp(TimestampError),
    #[error("delay {0}")]
    Delay(TimestampError),
    #[error(
        "the first turn of a session has no timestamp, but {decided_by} has one. Give every first turn a \
         timestamp, or none"
    )]
    FirstTurnUntimed { decided_by: Position },
    #[error(
        "the first turn of a session has a timestamp, but {decided_by} has none. Give every first turn a \
         timestamp, or none"
    )]
    FirstTurnTimed { decided_by: Position },
    #[error("session_id is {kind}. Write a string")]
    SessionIdKind { kind: Kind },
    #[error("session_id has escapes that name no character. Write it without them")]
    SessionIdNotText,
    #[error("session_id is empty. Leave it out for a session of one turn")]
    SessionIdEmpty,
    #[error(
        "the session has {mode} here and {first} on {first_position}. Use one kind in all turns of a session: lengths \
         and texts, or messages, or payloads"
    )]
    MixedSession {
        mode: &'static str,
        first: &'static str,
        first_position: Position,
    },
}

fn fitting(sizes: Option<&RangeInclusive<u32>>) -> String {
    match sizes {
        Some(sizes) => format!(
            "For this record dataset.options.blockSize {} would fit",
            sizes_text(sizes)
        ),
        None => "No dataset.options.blockSize fits this record: check both columns".to_owned(),
    }
}
