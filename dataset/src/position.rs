//! Where a record stands in a trace, in words for people.

use std::fmt;
use std::sync::Arc;

/// Where a record stands: on a line, or in a row of a shard. Prints as `line 3` or `row 3 of part-0.parquet`.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    number: u32,
    shard: Option<Arc<Shard>>,
}

/// One of the files whose rows are the records of a trace.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) name: String,
    /// Rows of the shards before it.
    pub(crate) rows_before: u32,
}

impl Position {
    /// A line of the file, from 1, blank lines counted.
    pub(crate) fn line(number: u32) -> Self {
        Self { number, shard: None }
    }

    /// A row of `shard`; `number` counts from 1 over all shards.
    pub(crate) fn row(number: u32, shard: &Arc<Shard>) -> Self {
        Self {
            number,
            shard: Some(Arc::clone(shard)),
        }
    }

    /// Its number in the whole trace, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What records are called where it stands.
    pub(crate) fn noun(&self) -> &'static str {
        match self.shard {
            None => "line",
            Some(_) => "row",
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shard {
            None => write!(formatter, "line {}", self.number),
            Some(shard) => write!(
                formatter,
                "row {} of {}",
                self.number.saturating_sub(shard.rows_before),
                shard.name
            ),
        }
    }
}
