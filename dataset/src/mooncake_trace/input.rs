//! What a record says: a length, a text, messages or a body, and what is merged into the request.

use bytes::Bytes;
use reprise_content::{Piece, TextId};

use super::sessions::Mode;
use super::{CONTENT_COLUMNS, RecordError};
use crate::count::{self, shortened};
use crate::decimal::Decimal;
use crate::json::{self, Kind, Members};
use crate::recorded_body::{RecordedBody, is_constrained};

/// What a record says. A record has exactly one of these.
#[derive(Debug)]
pub(super) enum Input<'a> {
    Length { tokens: u32, hash_ids: Vec<TextId> },
    Text { piece: Piece },
    Messages { messages: Bytes, tools: Option<&'a str> },
    Payload { body: &'a str },
}

impl<'a> Input<'a> {
    pub(super) fn read(record: &Members<'a>) -> Result<Self, RecordError> {
        let mut given = CONTENT_COLUMNS
            .into_iter()
            .filter_map(|column| Some((column, record.get_non_null(column)?)));
        let (column, value) = given.next().ok_or(RecordError::NoInput)?;
        if let Some((other, _)) = given.next() {
            return Err(RecordError::TwoInputs { one: column, other });
        }
        let hash_ids = record.get_non_null("hash_ids");
        if hash_ids.is_some() && column != "input_length" {
            return Err(RecordError::HashIdsWithoutLength);
        }
        let tools = record.get_non_null("tools");
        if tools.is_some() && column != "messages" {
            return Err(RecordError::ToolsWithoutMessages);
        }
        match column {
            "input_length" => {
                let hash_ids = hash_ids.map_or(Ok(Vec::new()), read_hash_ids)?;
                Ok(Self::Length {
                    tokens: read_length(value)?,
                    hash_ids,
                })
            }
            "text_input" => Ok(Self::Text {
                piece: read_text(value)?,
            }),
            "messages" => {
                check_messages(value)?;
                let tools = tools.map(check_tools).transpose()?;
                Ok(Self::Messages {
                    messages: Bytes::copy_from_slice(value.as_bytes()),
                    tools,
                })
            }
            _ => match Kind::of(value) {
                Kind::Object => Ok(Self::Payload { body: value }),
                kind => Err(RecordError::PayloadKind { kind }),
            },
        }
    }

    pub(super) fn mode(&self) -> Mode {
        match self {
            Self::Length { .. } | Self::Text { .. } => Mode::NewWords,
            Self::Messages { .. } => Mode::Messages,
            Self::Payload { .. } => Mode::Payload,
        }
    }

    pub(super) fn tokens(&self) -> Option<u32> {
        match self {
            Self::Length { tokens, .. } => Some(*tokens),
            Self::Text { .. } | Self::Messages { .. } | Self::Payload { .. } => None,
        }
    }
}

fn read_length(value: &str) -> Result<u32, RecordError> {
    match Kind::of(value) {
        Kind::Number => count::parse(value).map_err(RecordError::InputLength),
        kind => Err(RecordError::InputLengthKind { kind }),
    }
}

fn read_hash_ids(value: &str) -> Result<Vec<TextId>, RecordError> {
    if Kind::of(value) != Kind::Array {
        return Err(RecordError::HashIdsKind {
            kind: Kind::of(value),
        });
    }
    let ids: Result<Vec<i64>, _> = serde_json::from_str(value);
    let ids = ids
        .ok()
        .and_then(|ids| ids.into_iter().map(TextId::shared).collect());
    ids.map_or_else(|| read_hash_ids_one_by_one(value), Ok)
}

/// For lists with an id that is written otherwise, or wrong: each is looked at by itself.
fn read_hash_ids_one_by_one(list: &str) -> Result<Vec<TextId>, RecordError> {
    let ids = json::list(list).unwrap_or_default().into_iter().enumerate();
    ids.map(|(index, text)| {
        read_hash_id(text).ok_or_else(|| RecordError::HashId {
            index,
            text: shortened(text),
        })
    })
    .collect()
}

/// `1.0` is 1, as it is for lengths.
fn read_hash_id(text: &str) -> Option<TextId> {
    let scaled = Decimal::parse(text)?.scaled(0).filter(|scaled| scaled.is_exact)?;
    TextId::shared(i64::try_from(scaled.value).ok()?)
}

/// The text between the quotes is already escaped as the inside of a JSON string has to be.
fn read_text(value: &str) -> Result<Piece, RecordError> {
    match Kind::of(value) {
        Kind::String => {}
        kind => return Err(RecordError::TextKind { kind }),
    }
    if json::string(value).is_none() {
        return Err(RecordError::TextNotText);
    }
    let escaped = value
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or_default();
    match escaped {
        "" => Err(RecordError::TextEmpty),
        escaped => Ok(Piece::Literal(Bytes::copy_from_slice(escaped.as_bytes()))),
    }
}

fn check_messages(value: &str) -> Result<(), RecordError> {
    let messages = json::list(value).ok_or_else(|| RecordError::MessagesKind {
        kind: Kind::of(value),
    })?;
    if messages.is_empty() {
        return Err(RecordError::MessagesEmpty);
    }
    messages
        .into_iter()
        .enumerate()
        .try_for_each(|(index, message)| check_message(index, message))
}

fn check_message(index: usize, message: &str) -> Result<(), RecordError> {
    match Kind::of(message) {
        Kind::Object => {}
        kind => return Err(RecordError::MessageKind { index, kind }),
    }
    let message = Members::parse(message).map_err(|source| RecordError::Message { index, source })?;
    match message.get("role").map(Kind::of) {
        Some(Kind::String) => Ok(()),
        Some(kind) => Err(RecordError::RoleKind { index, kind }),
        None => Err(RecordError::MessageWithoutRole { index }),
    }
}

fn check_tools(value: &str) -> Result<&str, RecordError> {
    match Kind::of(value) {
        Kind::Array => Ok(value),
        kind => Err(RecordError::ToolsKind { kind }),
    }
}

/// Members that are merged last into the request, over what is there.
#[derive(Debug, Default)]
pub(super) struct Extra<'a> {
    /// The members as written, without the braces.
    inner: &'a str,
    members: Option<Members<'a>>,
}

impl<'a> Extra<'a> {
    /// Keys that say what to send, which is for the record itself to say.
    const INPUT_KEYS: [&'static str; 3] = ["messages", "prompt", "input"];

    pub(super) fn read(value: &'a str) -> Result<Self, RecordError> {
        match Kind::of(value) {
            Kind::Object => {}
            kind => return Err(RecordError::ExtraKind { kind }),
        }
        let members = Members::parse(value).map_err(RecordError::Extra)?;
        let replaces_input = members
            .iter()
            .find(|member| Self::INPUT_KEYS.contains(&member.key.as_ref()));
        if let Some(member) = replaces_input {
            return Err(RecordError::ExtraReplacesInput {
                key: member.key.clone().into_owned(),
            });
        }
        let inner = value
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or_default();
        Ok(Self {
            inner: inner.trim_ascii(),
            members: Some(members),
        })
    }

    pub(super) fn names_model(&self) -> bool {
        self.has("model")
    }

    fn has(&self, key: &str) -> bool {
        self.members
            .as_ref()
            .is_some_and(|members| members.get(key).is_some())
    }

    /// The members as JSON without the braces, after `tools`, unless they have their own, and whether they constrain decoding
    /// by a grammar. `None` when there are none.
    pub(super) fn into_members(self, tools: Option<&str>) -> (Option<Bytes>, bool) {
        let tools = tools
            .filter(|_| !self.has("tools"))
            .map(|tools| format!("\"tools\":{tools}"));
        let parts: Vec<&str> = tools
            .as_deref()
            .into_iter()
            .chain([self.inner])
            .filter(|part| !part.is_empty())
            .collect();
        if parts.is_empty() {
            return (None, false);
        }
        let members = parts.join(",");
        let is_constrained =
            Members::parse(&format!("{{{members}}}")).is_ok_and(|members| is_constrained(&members));
        (Some(members.into()), is_constrained)
    }

    /// Merges the members into a recorded body: a value that is there is replaced in its place, a new member comes last.
    pub(super) fn merge_into(self, body: &str) -> Result<RecordedBody, RecordError> {
        let recorded = Members::parse(body).map_err(RecordError::Payload)?;
        let Some(extra) = self.members.filter(|extra| !extra.is_empty()) else {
            return Ok(RecordedBody::cut_members(body, &recorded));
        };
        let mut merged = String::with_capacity(body.len() + self.inner.len());
        let mut done = 0;
        for member in recorded.iter() {
            if let Some(value) = extra.get(&member.key) {
                let place = json::place(member.value, body);
                merged.push_str(&body[done..place.start]);
                merged.push_str(value);
                done = place.end;
            }
        }
        let brace = body.rfind('}').unwrap_or(body.len());
        merged.push_str(&body[done..brace]);
        let new = extra.iter().filter(|member| recorded.get(&member.key).is_none());
        for (index, member) in new.enumerate() {
            if index > 0 || !recorded.is_empty() {
                merged.push(',');
            }
            merged.push_str(&serde_json::Value::from(member.key.as_ref()).to_string());
            merged.push(':');
            merged.push_str(member.value);
        }
        merged.push_str(&body[brace..]);
        RecordedBody::cut(&merged).map_err(RecordError::Payload)
    }
}
