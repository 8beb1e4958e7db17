//! Why a trace in Parquet cannot be used.

use std::io;
use std::path::PathBuf;

use super::columns::RefusedColumn;
use crate::format::Format;

/// Why a trace in Parquet cannot be used. Prints what follows `Cannot use <reference>: `.
#[derive(Debug, thiserror::Error)]
pub enum ParquetError {
    /// The format reads lines only.
    #[error(
        "{format} does not read parquet files. Convert it to JSON lines, or use a format that reads parquet: {}.",
        reading_formats()
    )]
    Format {
        /// The format.
        format: Format,
    },
    /// A folder without Parquet.
    #[error(
        "it is a folder without any Parquet file. Name a file, or a folder that holds the shards of a Parquet dataset."
    )]
    NoParquet,
    /// Files beside the shards that could be data.
    #[error(
        "it holds files beside its Parquet shards that are something else: {}. Move them away, or name one shard, e.g. {}.",
        list(names), example.display()
    )]
    OtherFiles {
        /// Their names.
        names: Vec<String>,
        /// A shard that can be used alone.
        example: PathBuf,
    },
    /// Several folders with Parquet, and none is named train.
    #[error("it has several datasets under {}. Use one of: {}.", folder.display(), list(&shown(datasets)))]
    SeveralDatasets {
        /// The folder they are in.
        folder: PathBuf,
        /// The folders.
        datasets: Vec<PathBuf>,
    },
    /// Shards, and folders with more of them.
    #[error(
        "it holds Parquet files and also folders with Parquet files: {}. Name one of the folders or one file, or move \
         the others away.", list(&shown(folders))
    )]
    FilesAndFolders {
        /// The folders.
        folders: Vec<PathBuf>,
    },
    /// Hive partitions.
    #[error(
        "it is partitioned ({}), and columns that stand in the names of folders are not read. Write it without \
         partitions, or name one partition's folder.",
        list(folders)
    )]
    Partitioned {
        /// The folders' names.
        folders: Vec<String>,
    },
    /// Shards of several splits, and none is named train.
    #[error(
        "it holds the splits {}, and none is named train. Use one split's shard, e.g. {}.",
        splits.join(", "), shown(shards).join(" or ")
    )]
    SeveralSplits {
        /// The splits.
        splits: Vec<String>,
        /// A shard of each.
        shards: Vec<PathBuf>,
    },
    /// Shards of several splits, and shards of none.
    #[error(
        "it holds the splits {} and also Parquet files of no split: {}. Move the latter away, or name one file.",
        splits.join(", "), list(others)
    )]
    ShardsOfNoSplit {
        /// The splits.
        splits: Vec<String>,
        /// The other shards.
        others: Vec<String>,
    },
    /// Columns of types that JSON does not have.
    #[error(
        "{file} has columns that no JSON record can hold: {}. Write them as numbers, strings, lists or structs, or leave \
         them out.", columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Columns {
        /// The file.
        file: String,
        /// The columns.
        columns: Vec<RefusedColumn>,
    },
    /// Not what its first bytes promise.
    #[error("{file} cannot be read as Parquet ({detail}). Get a complete copy of it, or write it again.")]
    Damaged {
        /// The file.
        file: String,
        /// What the decoder said.
        detail: String,
    },
    /// The disk failed.
    #[error("reading {} failed: {error}. Check the path and its permissions.", path.display())]
    Io {
        /// What was read.
        path: PathBuf,
        /// What stopped it.
        #[source]
        error: io::Error,
    },
}

fn reading_formats() -> String {
    let names = Format::all().iter().filter(|format| format.reads_parquet());
    names.map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
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
