//! `mooncake_trace`: lengths with hash ids, or recorded prompts, messages or bodies; sessions of several turns.

mod blocks;
mod error;
mod input;
mod sessions;

use reprise_content::{Body, Turn};

use crate::count;
use crate::facts::DatasetWarning;
use crate::format::Format;
use crate::json::{self, Kind, Members};
use crate::options::Options;
use crate::position::Position;
use crate::read::{RecordReader, Remarks};
use crate::recorded_body::Oddities;
use crate::refusal::LineError;
use crate::timestamp::{self, TimesSeen, TimestampUnit};

use blocks::Blocks;
pub(crate) use blocks::DEFAULT_BLOCK_SIZE;
pub(crate) use error::RecordError;
use input::{Extra, Input};
use sessions::{Sessions, TurnOfSession};

/// The columns of which a record has exactly one.
pub(crate) const CONTENT_COLUMNS: [&str; 4] = ["input_length", "text_input", "messages", "payload"];

pub(crate) const COLUMNS: [&str; 11] = [
    "timestamp",
    "input_length",
    "output_length",
    "hash_ids",
    "text_input",
    "messages",
    "payload",
    "tools",
    "delay",
    "session_id",
    "extra",
];

pub(crate) struct Reader {
    unit: TimestampUnit,
    blocks: Blocks,
    sessions: Sessions,
    timing: Option<Timing>,
    times: TimesSeen,
    needs_model: bool,
    delays_on_first_turns: u64,
    oddities: Oddities,
}

/// Whether first turns have a time. The first record decides.
struct Timing {
    is_timed: bool,
    decided_by: Position,
}

impl Reader {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            unit: options.unit(Format::MooncakeTrace),
            blocks: Blocks::new(options.block_size),
            sessions: Sessions::default(),
            timing: None,
            times: TimesSeen::default(),
            needs_model: false,
            delays_on_first_turns: 0,
            oddities: Oddities::default(),
        }
    }

    fn record(&mut self, position: &Position, record: &Members<'_>) -> Result<Turn, RecordError> {
        let timestamp = record.get_non_null("timestamp");
        let line = position.number();
        let timing = self.timing.get_or_insert_with(|| Timing {
            is_timed: timestamp.is_some(),
            decided_by: position.clone(),
        });
        let session_id = record
            .get_non_null("session_id")
            .map(read_session_id)
            .transpose()?;
        // The turn is placed before anything else can be wrong with it, so that one fault does not make the next turn of
        // its session look like a first one.
        let place = self.sessions.place(session_id.as_deref());
        if place.is_first {
            timing.check(timestamp.is_some())?;
        }

        let number = |value| timestamp::from_number(value, self.unit).map_err(RecordError::Timestamp);
        let recorded_ns = timestamp.map(number).transpose()?;
        self.times.note(recorded_ns);
        let delay = |value| timestamp::delay_from_number(value, self.unit).map_err(RecordError::Delay);
        let delay_ns = record.get_non_null("delay").map(delay).transpose()?;
        let output_tokens = record
            .get_non_null("output_length")
            .map(read_output_length)
            .transpose()?;
        let extra = record.get_non_null("extra").map(Extra::read).transpose()?;

        let input = Input::read(record)?;
        let this_turn = TurnOfSession {
            mode: input.mode(),
            recorded_ns,
            input_tokens: input.tokens(),
            output_tokens,
        };
        self.sessions.follow(session_id.as_deref(), position, this_turn)?;
        let input_tokens = input.tokens();
        let (body, is_constrained) = self.body(line, input, extra)?;
        self.delays_on_first_turns += u64::from(place.is_first && delay_ns.is_some());
        Ok(Turn {
            session: place.session,
            line,
            recorded_ns,
            delay_ns,
            input_tokens,
            output_tokens,
            request_id: None,
            headers: Vec::new(),
            is_constrained,
            body,
        })
    }

    /// What the record says, and whether a grammar constrains its decoding.
    fn body(
        &mut self,
        line: u32,
        input: Input<'_>,
        extra: Option<Extra<'_>>,
    ) -> Result<(Body, bool), RecordError> {
        let extra = extra.unwrap_or_default();
        let pieces = match input {
            Input::Length { tokens, hash_ids } => self.blocks.pieces(line, tokens, hash_ids)?,
            Input::Text { piece } => vec![piece],
            Input::Messages { messages, tools } => {
                self.needs_model |= !extra.names_model();
                let (extra, is_constrained) = extra.into_members(tools);
                return Ok((Body::Messages { messages, extra }, is_constrained));
            }
            Input::Payload { body } => {
                let recorded = extra.merge_into(body)?;
                let is_constrained = recorded.is_constrained();
                return Ok((self.oddities.count(recorded), is_constrained));
            }
        };
        self.needs_model |= !extra.names_model();
        let (extra, is_constrained) = extra.into_members(None);
        Ok((Body::Prompt { pieces, extra }, is_constrained))
    }
}

impl RecordReader for Reader {
    fn turn(&mut self, position: &Position, record: &Members<'_>) -> Result<Turn, LineError> {
        Ok(self.record(position, record)?)
    }

    fn advice(&self) -> Option<String> {
        self.blocks.advice()
    }

    fn finish(self: Box<Self>) -> Remarks {
        let delays = self.delays_on_first_turns;
        let delays = (delays > 0).then_some(DatasetWarning::DelaysWithoutPredecessor { turns: delays });
        let seconds = self.times.look_like_seconds(self.unit);
        let seconds = seconds.then_some(DatasetWarning::TimesLookLikeSeconds);
        let warnings = delays
            .into_iter()
            .chain(seconds)
            .chain(self.sessions.warnings())
            .chain(self.blocks.warning());
        let warnings = warnings.chain(self.oddities.warnings()).collect();
        Remarks {
            is_synthesised: self.needs_model,
            warnings,
        }
    }
}

impl Timing {
    fn check(&self, has_timestamp: bool) -> Result<(), RecordError> {
        let decided_by = || self.decided_by.clone();
        match (self.is_timed, has_timestamp) {
            (true, false) => Err(RecordError::FirstTurnUntimed {
                decided_by: decided_by(),
            }),
            (false, true) => Err(RecordError::FirstTurnTimed {
                decided_by: decided_by(),
            }),
            _ => Ok(()),
        }
    }
}

fn read_session_id(value: &str) -> Result<String, RecordError> {
    match Kind::of(value) {
        Kind::String => match json::string(value) {
            Some(id) if id.is_empty() => Err(RecordError::SessionIdEmpty),
            Some(id) => Ok(id.into_owned()),
            None => Err(RecordError::SessionIdNotText),
        },
        kind => Err(RecordError::SessionIdKind { kind }),
    }
}

fn read_output_length(value: &str) -> Result<u32, RecordError> {
    match Kind::of(value) {
        Kind::Number => count::parse(value).map_err(RecordError::OutputLength),
        kind => Err(RecordError::OutputLengthKind { kind }),
    }
}
