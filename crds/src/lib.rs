//! What a user can say: the Reprise resources, their schema and their validation.
//!
//! [`ReplayJob`] is the one resource so far. Nothing here reads a file or talks to anything.

mod absent;
pub mod duration;
pub mod number;
pub mod spec;

pub use duration::TimeSpan;
pub use number::PositiveNumber;
pub use spec::{
    Api, Arrivals, Dataset, DatasetOptions, LatePolicy, Rate, Replay, ReplayJob, ReplayJobSpec,
    ReplayJobStatus, Results, Schedule, Slo, Target, TimestampUnit, TraceFormat, UnknownColumns, Warmup,
    Window, Workers,
};
