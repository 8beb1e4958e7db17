//! Replay and measure.
//!
//! [`replay`] sends the requests of a [`Plan`] on its schedule and hands out one [`reprise_contract::Outcome`] for each, sent
//! or not; [`prepare`] does so in steps, for a start that many workers agree on. It is open loop: a request goes when it is due, however many are in flight. There is one runtime a core, each
//! with its own sessions, connections and timer; while requests are in flight the runtimes share nothing that is written to.
//!
//! No request is retried, dropped or hidden: what became of it is in its outcome.

mod answer;
mod calibrate;
mod clock;
mod connection;
mod control;
mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod headers;
pub mod member;
mod pace;
mod plan;
mod recorder;
mod replay;
mod sent;
mod session;
mod start;
mod target;
mod thread;
mod timer;

pub use calibrate::{CalibrateError, calibrate};
pub use control::{Control, StopCause};
pub use headers::{RequestHeaders, RequestHeadersError};
pub use pace::Pace;
pub use plan::{Plan, PlanError, PlanProblem, RequestNumbers};
pub use recorder::Batch;
pub use replay::{ReplayError, Replayed, Running, Standby, prepare, replay};
pub use reprise_contract::plan::LatePolicy;
pub use sent::SentCount;
pub use target::{Target, TargetError};
