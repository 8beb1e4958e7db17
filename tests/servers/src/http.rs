//! Web servers: one that does as it is told, and two that everybody uses.

mod nginx;
mod python;
mod scripted;

pub use nginx::Nginx;
pub use python::PythonServer;
pub use scripted::{Request, Server, write};

/// A line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// `GET`, hopefully.
    pub method: String,
    /// Path and query, as they arrived.
    pub target: String,
    /// What was answered.
    pub status: u16,
    /// The bytes of the body that were sent, where the server counts them.
    pub bytes: Option<u64>,
    /// `Range`, where the server writes it down.
    pub range: Option<String>,
}
