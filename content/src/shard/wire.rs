//! What a shard looks like on its way: an Arrow IPC stream, and after its end the SHA-256 of all bytes before.
//!
//! One row a request, in the order of the schedule: its number in the plan, when it goes, and its turn as content has it. The
//! head is in the schema's metadata.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::schedule::Mode;
use crate::store::{Origin, TURN_COLUMNS};
use reprise_contract::Digest;

/// The version of what is described here.
pub(super) const VERSION: u32 = 1;
/// The key of the head in the schema's metadata.
pub(super) const HEAD_KEY: &str = "reprise.shard";
/// Bytes of the digest after the stream.
pub(super) const DIGEST_BYTES: usize = 32;

/// The columns that are not the turn's.
pub(super) mod column {
    pub(in super::super) const NUMBER: usize = 0;
    pub(in super::super) const OFFSET_NS: usize = 1;
    pub(in super::super) const DELAY_NS: usize = 2;
    pub(in super::super) const IS_WARMUP: usize = 3;
    /// How many they are: the turn's follow.
    pub(in super::super) const COUNT: usize = 4;
}

/// What a shard says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Head {
    /// [`VERSION`].
    pub(super) version: u32,
    /// [`crate::store::BUILDER`] of the content.
    pub(super) builder: String,
    /// What the content was made of.
    pub(super) origin: Origin,
    /// Digest of the whole content.
    pub(super) content_digest: Digest,
    /// What decides when requests go.
    pub(super) mode: Mode,
    /// Requests of this shard.
    pub(super) requests: u32,
}

/// All columns.
pub(super) static COLUMNS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let mut fields = vec![
        Arc::new(Field::new("request", DataType::UInt32, false)),
        Arc::new(Field::new("offset_ns", DataType::Int64, true)),
        Arc::new(Field::new("after_turn_ns", DataType::UInt64, false)),
        Arc::new(Field::new("is_warmup", DataType::Boolean, false)),
    ];
    fields.extend(TURN_COLUMNS.fields().iter().cloned());
    Arc::new(Schema::new(fields))
});
