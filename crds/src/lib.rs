//! What a user can say: the Reprise resources, their schema and their validation.
//!
//! [`ReplayJob`] is the one resource so far. [`document::read`] turns what a person wrote into one, [`validate()`]
//! checks the rules between its fields, [`explain()`] says what a field means. Nothing here reads a file or talks to
//! anything.

mod absent;
pub mod document;
pub mod duration;
mod effective;
pub mod explain;
pub mod generated;
mod headers;
mod nearest;
pub mod number;
pub mod path;
mod s3_folder;
mod schema;
pub mod spec;
mod unsupported;
pub mod validate;

pub use duration::TimeSpan;
pub use effective::effective;
pub use explain::explain;
pub use number::PositiveNumber;
pub use path::FieldPath;
pub use s3_folder::{S3Folder, S3FolderError};
pub use schema::Choice;
pub use spec::{
    Api, Arrivals, Dataset, DatasetOptions, LatePolicy, LossPolicy, Rate, Replay, ReplayJob, ReplayJobSpec,
    ReplayJobStatus, Results, ResultsS3, S3Location, Schedule, Slo, Target, TimestampUnit, TraceFormat,
    UnknownColumns, Warmup, Window, Workers,
};
pub use validate::validate;
