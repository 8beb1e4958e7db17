//! What a run sends.
//!
//! Three layers, each with its own key, so that a change to one rebuilds nothing of the others:
//!
//! - **content** ([`turn`], [`piece`], [`store`], [`corpus`]): what requests say, made once from a trace. A turn's body is a
//!   list of pieces, not text, so its size follows the records and not the traffic;
//! - **schedule** ([`schedule`]): when they go;
//! - **template** ([`template`]): model, streaming, output length, headers and API; it makes bodies of pieces.
//!
//! [`shard`] splits content and schedule into parts, one for each of many workers.
//!
//! Equal inputs give equal bytes and equal digests on any machine and with any number of threads.

pub mod corpus;
pub mod digest;
pub mod piece;
pub mod schedule;
pub mod shard;
pub mod store;
pub mod template;
pub mod turn;

pub use piece::{Absent, Piece, Slot, TextId};
pub use reprise_contract::Digest;
pub use turn::{Body, Turn};
