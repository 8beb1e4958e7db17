//! The first record of a remote trace, looked at before the rest is downloaded.

use std::convert::Infallible;

use reprise_dataset::{FirstRecord, Format, HeadStep, Options, ParquetTrace, ReadError};
use reprise_source::Head;

use super::error::PrepareError;
use super::input::shard;
use super::source::Checked;
use super::waiting::Waiting;

/// What the first record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// It has a time, so the trace has a recorded schedule.
    Recorded,
    /// It has none.
    None,
}

/// Whether the first record is of its format, and whether it has a time. Downloads as little as shows it: leading bytes, or of
/// Parquet the first file.
pub(super) fn look(
    checked: &Checked,
    format: Format,
    options: &Options,
    waiting: &Waiting<'_>,
) -> Result<Option<Times>, PrepareError> {
    let reference = checked.pinned.reference();
    let found = if checked.pinned.is_parquet() {
        let first = shard(&checked.fetch_first(waiting)?);
        FirstRecord::in_first_shards(format, options, &ParquetTrace::of(vec![first]))
    } else {
        in_lines(checked, format, options, waiting)?
    };
    match found.map_err(|error| PrepareError::trace(reference, error))? {
        FirstRecord::Timed => Ok(Some(Times::Recorded)),
        FirstRecord::Untimed => Ok(Some(Times::None)),
        // Only the whole trace can tell, and reading it does.
        FirstRecord::NeedMore => Ok(None),
    }
}

fn in_lines(
    checked: &Checked,
    format: Format,
    options: &Options,
    waiting: &Waiting<'_>,
) -> Result<Result<FirstRecord, ReadError<Infallible>>, PrepareError> {
    for step in HeadStep::ALL {
        let HeadStep::Bytes(limit) = step else { break };
        let stored = checked.start(limit, waiting)?;
        let is_whole = (stored.len() as u64) < limit;
        let head = Head::unpack(&stored, is_whole)
            .map_err(|problem| PrepareError::trace(checked.pinned.reference(), problem))?;
        if head.is_whole {
            return Ok(FirstRecord::in_lines(format, options, &mut head.bytes.as_slice()));
        }
        match FirstRecord::in_head(format, options, &head.bytes) {
            Ok(FirstRecord::NeedMore) => {}
            found => return Ok(found),
        }
    }
    Ok(Ok(FirstRecord::NeedMore))
}
