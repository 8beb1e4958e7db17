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
    /// A file of no bytes.
    #[error(
        "{file} is empty: it has no bytes, and even a Parquet file without rows has some. Get a complete copy of it, or \
         leave it out."
    )]
    NoBytes {
        /// The file.
        file: String,
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
