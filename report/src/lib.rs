//! From outcomes to numbers to files.
//!
//! [`OutcomeWriter`] keeps outcomes in `outcomes.parquet` as they arrive; [`analyse`] turns that file into a
//! [`Summary`](reprise_contract::Summary); [`table`], [`html`] and [`files`] show it on a terminal, as a page, and on the
//! disk. A summary is all that these three need, so a page can be made again from `summary.json` alone.

mod analysis;
mod atomic;
pub mod columns;
pub mod files;
pub mod html;
mod job;
pub mod numbers;
mod outcomes;
pub mod table;
mod words;

#[cfg(test)]
mod fixtures;

pub use analysis::{
    AnalyseError, EXACT_VALUES, EndedBy, Input, Limits, Loss, OnLoss, Part, PartClock, Slo, Workers, analyse,
};
pub use atomic::WriteError;
pub use outcomes::{OutcomeFileError, OutcomeReader, OutcomeWriter};
