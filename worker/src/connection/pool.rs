//! Connections of one runtime to one target.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;

use super::Connection;
use crate::answer::Fault;
use crate::target::{Resolved, Target};

/// A connection that was idle for longer is not used again: common servers close theirs after 5 seconds, and a request
/// that meets the closing would fail through no fault of the target.
pub(crate) const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// Connections of one runtime to one target. The one used last is used next.
pub(crate) struct Pool {
    target: Target,
    addresses: Resolved,
    tls: Option<Arc<ClientConfig>>,
    idle: RefCell<VecDeque<Connection>>,
    opened: Cell<usize>,
}

impl Pool {
    pub(crate) fn new(target: Target, addresses: Resolved, tls: Option<Arc<ClientConfig>>) -> Self {
        Self {
            target,
            addresses,
            tls,
            idle: RefCell::default(),
            opened: Cell::new(0),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// How many idle connections will still be young enough at T0, if that is near.
    pub(crate) fn fresh(&self) -> usize {
        let idle = self.idle.borrow();
        idle.iter()
            .filter(|connection| connection.idle_since.elapsed() < IDLE_LIMIT / 2)
            .count()
    }

    /// An idle connection that still works.
    pub(crate) async fn take_idle(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle.borrow_mut().pop_back()?;
            if connection.idle_since.elapsed() < IDLE_LIMIT && connection.is_ready().await {
                return Some(connection);
            }
        }
    }

    /// A new connection.
    pub(crate) async fn open(&self) -> Result<Connection, Fault> {
        let turn = self.opened.replace(self.opened.get() + 1);
        Connection::open(&self.target, &self.addresses, turn, self.tls.as_ref()).await
    }

    /// Takes a connection back, if it can carry another request.
    pub(crate) async fn give_back(&self, mut connection: Connection) {
        if connection.is_ready().await {
            connection.idle_since = Instant::now();
            let mut idle = self.idle.borrow_mut();
            idle.push_back(connection);
            // The oldest are closed, so that they do not hold descriptors until the end.
            while idle
                .front()
                .is_some_and(|oldest| oldest.idle_since.elapsed() >= IDLE_LIMIT)
            {
                idle.pop_front();
            }
        }
    }
}
