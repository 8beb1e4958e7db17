//! The server as workers, the operator and people meet it: over TLS, with tokens, on a real network.

mod access;
mod gathering;
mod limits;
mod manager;
mod results;
