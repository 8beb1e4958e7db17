//! What a person should know of how the files of a trace were chosen.

use std::fmt;

/// Something about the choice of files that a person should know before trusting the replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutWarning {
    /// Shards of other splits in the folder, which are not read.
    SplitsLeftOut {
        /// The split that is read.
        read: String,
        /// The others.
        left_out: Vec<String>,
    },
    /// Other folders with Parquet, which are not read.
    FoldersLeftOut {
        /// The folder that is read.
        read: String,
        /// The others.
        left_out: Vec<String>,
    },
    /// The shards' names promise more shards than there are.
    ShardsMissing {
        /// How many there are.
        there: usize,
        /// How many there should be.
        of: usize,
    },
    /// The hub converted only the first part of a large dataset.
    PartlyConverted {
        /// The folder that says so.
        folder: String,
    },
}

impl LayoutWarning {
    /// A stable name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SplitsLeftOut { .. } => "SplitsLeftOut",
            Self::FoldersLeftOut { .. } => "FoldersLeftOut",
            Self::ShardsMissing { .. } => "ShardsMissing",
            Self::PartlyConverted { .. } => "PartlyConverted",
        }
    }

    /// Whether something that belongs to the trace may be missing. Else the choice is the usual one, and worth a notice.
    #[must_use]
    pub const fn is_doubtful(&self) -> bool {
        match self {
            Self::SplitsLeftOut { .. } | Self::FoldersLeftOut { .. } => false,
            Self::ShardsMissing { .. } | Self::PartlyConverted { .. } => true,
        }
    }
}

impl fmt::Display for LayoutWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SplitsLeftOut { read, left_out } => write!(
                f,
                "Only the split {read} was read, not {}. Name a shard of another split to replay that one.",
                left_out.join(", ")
            ),
            Self::FoldersLeftOut { read, left_out } => write!(
                f,
                "Only the folder {read} was read, not {}. Name another folder to replay that one.",
                left_out.join(", ")
            ),
            Self::ShardsMissing { there, of } => write!(
                f,
                "By their names there are {of} shards, and {there} of them were found and read. Get the others if the \
                 whole trace is meant."
            ),
            Self::PartlyConverted { folder } => write!(
                f,
                "By its name the folder {folder} holds only the first part of its split: the hub does not convert large \
                 datasets whole. Name the original files if the whole trace is meant."
            ),
        }
    }
}
