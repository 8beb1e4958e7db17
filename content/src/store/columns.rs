//! The columns of the file of turns.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, MapBuilder, StringBuilder, StructBuilder,
    UInt8Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;

use crate::piece::{Absent, Piece, Slot};
use crate::turn::{Body, Turn};

/// What kind of body a turn has, as stored.
pub(super) mod body_kind {
    pub(in super::super) const PROMPT: u8 = 0;
    pub(in super::super) const MESSAGES: u8 = 1;
    pub(in super::super) const RECORDED: u8 = 2;
}

/// What kind of piece it is, as stored.
pub(super) mod piece_kind {
    pub(in super::super) const CORPUS: u8 = 0;
    pub(in super::super) const LITERAL: u8 = 1;
    pub(in super::super) const MODEL: u8 = 2;
    pub(in super::super) const MAX_TOKENS: u8 = 3;
    pub(in super::super) const IGNORE_EOS: u8 = 4;
    pub(in super::super) const TAIL: u8 = 5;
}

/// Where each column stands in the schema.
pub(super) mod column {
    pub(in super::super) const SESSION: usize = 0;
    pub(in super::super) const LINE: usize = 1;
    pub(in super::super) const RECORDED_NS: usize = 2;
    pub(in super::super) const DELAY_NS: usize = 3;
    pub(in super::super) const INPUT_TOKENS: usize = 4;
    pub(in super::super) const OUTPUT_TOKENS: usize = 5;
    pub(in super::super) const REQUEST_ID: usize = 6;
    pub(in super::super) const HEADERS: usize = 7;
    pub(in super::super) const CONSTRAINED: usize = 8;
    pub(in super::super) const BODY: usize = 9;
    pub(in super::super) const PIECES: usize = 10;
    pub(in super::super) const EXTRA: usize = 11;
}

static PIECE_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Field::new("kind", DataType::UInt8, false),
        Field::new("id", DataType::UInt64, false),
        Field::new("tokens", DataType::UInt32, false),
        Field::new("bytes", DataType::Binary, false),
    ])
});

pub(crate) static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let piece = Field::new("piece", DataType::Struct(PIECE_FIELDS.clone()), false);
    let header = Field::new(
        "entries",
        DataType::Struct(Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", DataType::Utf8, true),
        ])),
        false,
    );
    Arc::new(Schema::new(vec![
        Field::new("session", DataType::UInt32, false),
        Field::new("line", DataType::UInt32, false),
        Field::new("recorded_ns", DataType::Int64, true),
        Field::new("delay_ns", DataType::UInt64, true),
        Field::new("input_tokens", DataType::UInt32, true),
        Field::new("output_tokens", DataType::UInt32, true),
        Field::new("request_id", DataType::Utf8, true),
        Field::new("headers", DataType::Map(Arc::new(header), false), false),
        Field::new("constrained", DataType::Boolean, false),
        Field::new("body", DataType::UInt8, false),
        Field::new("pieces", DataType::List(Arc::new(piece)), false),
        Field::new("extra", DataType::Binary, true),
    ]))
});

/// Turns on their way into a record batch.
pub(super) struct TurnBuilder {
    session: UInt32Builder,
    line: UInt32Builder,
    recorded_ns: Int64Builder,
    delay_ns: UInt64Builder,
    input_tokens: UInt32Builder,
    output_tokens: UInt32Builder,
    request_id: StringBuilder,
    headers: MapBuilder<StringBuilder, StringBuilder>,
    constrained: BooleanBuilder,
    body: UInt8Builder,
    pieces: ListBuilder<StructBuilder>,
    extra: BinaryBuilder,
    bytes: usize,
}

impl TurnBuilder {
    pub(super) fn new() -> Self {
        let piece = Field::new("piece", DataType::Struct(PIECE_FIELDS.clone()), false);
        let pieces = StructBuilder::from_fields(PIECE_FIELDS.clone(), 0);
        Self {
            session: UInt32Builder::new(),
            line: UInt32Builder::new(),
            recorded_ns: Int64Builder::new(),
            delay_ns: UInt64Builder::new(),
            input_tokens: UInt32Builder::new(),
            output_tokens: UInt32Builder::new(),
            request_id: StringBuilder::new(),
            headers: MapBuilder::new(None, StringBuilder::new(), StringBuilder::new()),
            constrained: BooleanBuilder::new(),
            body: UInt8Builder::new(),
            pieces: ListBuilder::new(pieces).with_field(piece),
            extra: BinaryBuilder::new(),
            bytes: 0,
        }
    }

    /// Turns since the last [`TurnBuilder::finish`].
    pub(super) fn len(&self) -> usize {
        arrow_array::builder::ArrayBuilder::len(&self.session)
    }

    /// Bytes of text since the last [`TurnBuilder::finish`].
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, turn: &Turn) -> Result<(), ArrowError> {
        self.session.append_value(turn.session);
        self.line.append_value(turn.line);
        self.recorded_ns.append_option(turn.recorded_ns);
        self.delay_ns.append_option(turn.delay_ns);
        self.input_tokens.append_option(turn.input_tokens);
        self.output_tokens.append_option(turn.output_tokens);
        self.request_id.append_option(turn.request_id.as_deref());
        for (name, value) in &turn.headers {
            self.headers.keys().append_value(name);
            self.headers.values().append_value(value);
        }
        self.headers.append(true)?;
        self.constrained.append_value(turn.is_constrained);
        self.push_body(&turn.body);
        Ok(())
    }

    fn push_body(&mut self, body: &Body) {
        let (kind, extra) = match body {
            Body::Prompt { pieces, extra } => {
                self.push_pieces(pieces);
                (body_kind::PROMPT, extra.as_ref())
            }
            Body::Messages { messages, extra } => {
                self.push_raw(piece_kind::LITERAL, 0, 0, messages);
                (body_kind::MESSAGES, extra.as_ref())
            }
            Body::Recorded { pieces } => {
                self.push_pieces(pieces);
                (body_kind::RECORDED, None)
            }
        };
        self.pieces.append(true);
        self.body.append_value(kind);
        self.extra.append_option(extra);
        self.bytes += extra.map_or(0, Bytes::len);
    }

    fn push_pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            self.push_piece(piece);
        }
    }

    fn push_piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Corpus { id, tokens } => self.push_raw(piece_kind::CORPUS, id.bits(), *tokens, &[]),
            Piece::Literal(bytes) => self.push_raw(piece_kind::LITERAL, 0, 0, bytes),
            Piece::Slot(Slot::Model(recorded)) => self.push_raw(piece_kind::MODEL, 0, 0, recorded),
            Piece::Slot(Slot::MaxTokens(recorded)) => self.push_raw(piece_kind::MAX_TOKENS, 0, 0, recorded),
            Piece::Slot(Slot::IgnoreEos(recorded)) => self.push_raw(piece_kind::IGNORE_EOS, 0, 0, recorded),
            Piece::Slot(Slot::Tail(absent)) => self.push_raw(piece_kind::TAIL, absent.bits(), 0, &[]),
        }
    }

    fn push_raw(&mut self, kind: u8, id: u64, tokens: u32, bytes: &[u8]) {
        let piece = self.pieces.values();
        if let Some(column) = piece.field_builder::<UInt8Builder>(0) {
            column.append_value(kind);
        }
        if let Some(column) = piece.field_builder::<UInt64Builder>(1) {
            column.append_value(id);
        }
        if let Some(column) = piece.field_builder::<UInt32Builder>(2) {
            column.append_value(tokens);
        }
        if let Some(column) = piece.field_builder::<BinaryBuilder>(3) {
            column.append_value(bytes);
        }
        piece.append(true);
        self.bytes += bytes.len();
    }

    /// The turns so far as one batch; the builder is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.bytes = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.session.finish()),
            Arc::new(self.line.finish()),
            Arc::new(self.recorded_ns.finish()),
            Arc::new(self.delay_ns.finish()),
            Arc::new(self.input_tokens.finish()),
            Arc::new(self.output_tokens.finish()),
            Arc::new(self.request_id.finish()),
            Arc::new(self.headers.finish()),
            Arc::new(self.constrained.finish()),
            Arc::new(self.body.finish()),
            Arc::new(self.pieces.finish()),
            Arc::new(self.extra.finish()),
        ];
        RecordBatch::try_new(SCHEMA.clone(), columns)
    }
}

impl Absent {
    fn bits(self) -> u64 {
        u64::from(self.is_empty_object)
            | u64::from(self.max_tokens) << 1
            | u64::from(self.ignore_eos) << 2
            | u64::from(self.stream) << 3
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self {
            is_empty_object: bits & 1 != 0,
            max_tokens: bits & 2 != 0,
            ignore_eos: bits & 4 != 0,
            stream: bits & 8 != 0,
        }
    }
}
