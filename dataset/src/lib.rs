//! From trace to content: the trace formats.
//!
//! [`read`] takes the lines of a trace in one of the [`Format`]s and hands out [`reprise_content::Turn`]s, one at a time
//! and in the order of the file. It never holds more than one line. A trace with any line that is wrong is refused as a
//! whole, with every such line counted and the first ones named. [`read_parquet`] does the same with the rows of Parquet
//! files.
//!
//! ```
//! use reprise_dataset::{Format, Options, ReadError, read};
//!
//! let trace = r#"{"timestamp": 0, "input_length": 1300, "output_length": 20, "hash_ids": [1, 2, 3]}"#;
//! let mut turns = Vec::new();
//! let facts = read(Format::MooncakeTrace, &mut trace.as_bytes(), &Options::default(), &mut |turn| {
//!     turns.push(turn);
//!     Ok::<(), std::io::Error>(())
//! })?;
//! assert_eq!((facts.records, turns[0].input_tokens), (1, Some(1300)));
//! # Ok::<(), ReadError<std::io::Error>>(())
//! ```
//!
//! A format is one module that implements the reading of a single record; everything that formats have in common (lines,
//! JSON, times, headers, the cutting of recorded bodies) lives beside it. One conformance suite under `tests/` runs
//! against all of them.

mod count;
mod decimal;
mod facts;
mod first_record;
mod format;
mod headers;
pub mod inspection;
mod iso8601;
mod json;
mod lines;
mod mooncake_trace;
mod named_counts;
mod nearest;
mod options;
mod parquet_trace;
mod position;
mod read;
mod recorded_body;
mod records;
mod refusal;
mod timestamp;
mod workload_trace;

pub use facts::{DatasetWarning, Facts};
pub use first_record::{FirstRecord, HeadStep};
pub use format::{Format, UnknownFormat};
pub use headers::{HeaderName, HeaderNameError};
pub use inspection::{Inspection, Inspector};
pub use named_counts::NamedCounts;
pub use options::{OptionName, Options, OptionsError, UnknownColumns};
pub use parquet_trace::{ParquetError, ParquetShard, ParquetTrace, RefusedColumn, read_parquet};
pub use read::{ReadError, read};
pub use refusal::{BadLine, BadLines, NoColumnFits};
pub use timestamp::TimestampUnit;
