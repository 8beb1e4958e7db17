//! Parts of a plan, one for each of many workers.
//!
//! [`split`] says which requests are whose; [`write()`] and [`read`] carry one part from the manager to its worker. A worker sends
//! of its part the very bytes that it would send of the whole.

mod capacity;
mod peaks;
mod reader;
mod split;
mod wire;
mod writer;

pub use capacity::{Chosen, HEAD_ROOM_PERCENT, TooFew, auto, enough};
pub use peaks::{MOMENT, Peaks};
pub use reader::{Shard, ShardError, read};
pub use split::{Balance, Split, split};
pub use writer::write;

#[cfg(test)]
mod tests;
