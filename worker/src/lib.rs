//! Replay and measure.
//!
//! [`replay`] sends the requests of a [`Plan`] on its schedule and hands out one [`reprise_contract::Outcome`] for each, sent
//! or not. It is open loop: a request goes when it is due, however many are in flight. There is one runtime a core, each
//! with its own sessions, connections and timer; while requests are in flight the runtimes share nothing that is written to.
//!
//! No request is retried, dropped or hidden: what became of it is in its outcome.

mod answer;
mod clock;
mod connection;
mod control;
mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod headers;
mod plan;
mod recorder;
mod replay;
mod session;
mod target;
mod thread;
mod timer;

pub use control::{Control, StopCause};
pub use headers::{RequestHeaders, RequestHeadersError};
pub use plan::Plan;
pub use replay::{ReplayError, Replayed, replay};
pub use reprise_contract::plan::LatePolicy;
pub use target::{Target, TargetError};
