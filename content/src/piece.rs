//! The pieces that a request body is made of.

use bytes::Bytes;

/// A run of bytes of a request body, or the rule that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text from the built-in corpus. Equal ids of one content give equal text; a shorter length gives a prefix of it.
    Corpus {
        /// Which text.
        id: TextId,
        /// How many tokens, which is how many words. At least 1.
        tokens: u32,
    },
    /// Bytes as they are.
    Literal(Bytes),
    /// A place that the template may fill.
    Slot(Slot),
}

/// A place in a recorded body that the template may fill. Each body has at most one of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The value of `model`. Holds the recorded value as JSON (with its quotes).
    Model(Bytes),
    /// The value of `max_tokens` or `max_completion_tokens`. Holds the recorded value as JSON.
    MaxTokens(Bytes),
    /// The value of `ignore_eos`. Holds the recorded value as JSON.
    IgnoreEos(Bytes),
    /// Just before the body's closing brace: members that are asked for but not recorded go here.
    Tail(Absent),
}

/// Which members a recorded body lacks, so that the template knows what it may add at [`Slot::Tail`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says whether one member is absent"
)]
pub struct Absent {
    /// Whether the body has no member at all, so that nothing needs a comma before it.
    pub is_empty_object: bool,
    /// Neither `max_tokens` nor `max_completion_tokens` is there.
    pub max_tokens: bool,
    /// `ignore_eos` is not there.
    pub ignore_eos: bool,
    /// `stream` is not there.
    pub stream: bool,
}

/// Names a text of the corpus within one content.
///
/// Ids that the trace gives (hash ids) and ids of records that share nothing live in separate halves of the space, so they
/// never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextId(u64);

impl TextId {
    const UNSHARED: u64 = 1 << 63;

    /// The text that every record with this hash id shares. `None` when `hash_id` is negative.
    #[must_use]
    pub fn shared(hash_id: i64) -> Option<Self> {
        u64::try_from(hash_id).ok().map(Self)
    }

    /// Text that only the record on this line has.
    #[must_use]
    pub fn unshared(line: u32) -> Self {
        Self(Self::UNSHARED | u64::from(line))
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The id as stored.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }
}
