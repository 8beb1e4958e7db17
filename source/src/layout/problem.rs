//! Why the files of a folder cannot be chosen.

use std::fmt;

use super::folder::examples;
use super::{Entry, ReferenceTo};

/// Why the files of a folder cannot be chosen. Prints what follows `Cannot use <reference>: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutProblem {
    /// Nothing at all.
    #[error("it is an empty folder. Check the reference, and that the data was uploaded.")]
    Empty,
    /// Neither a manifest nor Parquet.
    #[error(
        "it is a folder without a manifest and without Parquet files. Name a file in it{}, or ask its publisher to add \
         reprise.json.",
        such_as(examples)
    )]
    NothingToRead {
        /// References to files in it.
        examples: Vec<String>,
    },
    /// No manifest where only a manifest says what is the trace.
    #[error(
        "it is a folder without a manifest. Name a file in it{}, or ask its publisher to add reprise.json.",
        such_as(examples)
    )]
    NoManifest {
        /// References to files in it.
        examples: Vec<String>,
    },
    /// The manifest names what is not there.
    #[error(
        "its manifest names {path}, which is not there. Ask its publisher to correct path in the manifest."
    )]
    PathMissing {
        /// The path, relative to the manifest.
        path: String,
    },
    /// The manifest names a folder without Parquet.
    #[error(
        "its manifest names the folder {path}, which holds no Parquet files. Ask its publisher to name one file, or a \
         folder of Parquet shards."
    )]
    PathWithoutParquet {
        /// The path, relative to the manifest.
        path: String,
    },
    /// Files beside the shards that could be data.
    #[error(
        "{subject} holds files beside its Parquet shards that are something else: {}. {} one shard, e.g. {example}.",
        list(names), subject.advice("Move them away, or name", "Ask its publisher to move them away, or name")
    )]
    OtherFiles {
        /// What holds them.
        subject: Subject,
        /// Their names.
        names: Vec<String>,
        /// A reference to a shard that can be used alone.
        example: String,
    },
    /// Several folders with Parquet, and none is named train.
    #[error(
        "{subject} has several datasets under {folder}. {}: {}.",
        subject.advice("Use one of", "Ask its publisher to name one of them in the manifest"), list(datasets)
    )]
    SeveralDatasets {
        /// What holds them.
        subject: Subject,
        /// A reference to the folder they are in.
        folder: String,
        /// References to the folders.
        datasets: Vec<String>,
    },
    /// Shards, and folders with more of them.
    #[error(
        "{subject} holds Parquet files and also folders with Parquet files: {}. {}.",
        list(folders), subject.advice(
            "Name one of the folders or one file, or move the others away",
            "Ask its publisher to name one of the folders or one file in the manifest"
        )
    )]
    FilesAndFolders {
        /// What holds them.
        subject: Subject,
        /// References to the folders.
        folders: Vec<String>,
    },
    /// Hive partitions.
    #[error(
        "{subject} is partitioned ({}), and columns that stand in the names of folders are not read. {}, e.g. {example}.",
        list(folders), subject.advice(
            "Write it without partitions, or name one partition's folder",
            "Ask its publisher to write it without partitions, or to name one partition's folder"
        )
    )]
    Partitioned {
        /// What is partitioned.
        subject: Subject,
        /// The folders' names.
        folders: Vec<String>,
        /// A reference to one of them.
        example: String,
    },
    /// Shards of several splits, and none is named train.
    #[error(
        "{subject} holds the splits {}, and none is named 'train'. {} one split's shard, e.g. {}.",
        splits.join(", "), subject.advice(
            "Use",
            "Ask its publisher to keep one split in the folder or to name it train, or use"
        ), shards.join(" or ")
    )]
    SeveralSplits {
        /// What holds them.
        subject: Subject,
        /// The splits.
        splits: Vec<String>,
        /// A reference to a shard of each.
        shards: Vec<String>,
    },
    /// Shards of several splits, and shards of none.
    #[error(
        "{subject} holds the splits {} and also Parquet files of no split: {}. {} one file.",
        splits.join(", "), list(others),
        subject.advice("Move the latter away, or name", "Ask its publisher to move the latter away, or name")
    )]
    ShardsOfNoSplit {
        /// What holds them.
        subject: Subject,
        /// The splits.
        splits: Vec<String>,
        /// References to the other shards.
        others: Vec<String>,
    },
}

impl LayoutProblem {
    /// For a place where only a manifest says what is the trace, and there is none.
    pub(crate) fn no_manifest(listing: &[Entry<'_>], reference_to: ReferenceTo<'_>) -> Self {
        if listing.is_empty() {
            return Self::Empty;
        }
        Self::NoManifest {
            examples: examples(listing, reference_to),
        }
    }
}

/// What a problem is about, and so who can do something about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The folder that the reference names: whoever wrote the reference can write another one.
    Folder,
    /// The folder that the manifest's `path` names: its publisher chose it.
    ManifestFolder(String),
}

impl Subject {
    fn advice(&self, to_the_reader: &'static str, to_the_publisher: &'static str) -> &'static str {
        match self {
            Self::Folder => to_the_reader,
            Self::ManifestFolder(_) => to_the_publisher,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => f.write_str("it"),
            Self::ManifestFolder(path) => write!(f, "its manifest folder {path}"),
        }
    }
}

/// A name as a message can show it: on one line, whoever chose it.
pub(super) fn printable(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn such_as(examples: &[String]) -> String {
    match examples {
        [] => String::new(),
        examples => format!(", e.g. {}", examples.join(" or ")),
    }
}

/// The first of many names, and how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let first = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
