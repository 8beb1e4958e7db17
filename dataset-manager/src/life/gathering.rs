//! Waits for the workers' outcomes.

use std::time::Duration;

use reprise_contract::protocol::Stop;

use super::Life;
use super::failure::Failure;
use crate::server::{Gathered, Server};

/// Of the grace period, this share is for what comes after gathering: reporting and storing.
const RESERVE_SHARE: u32 = 3;

impl Life<'_> {
    /// Gathers; when the process is told to end, the workers stop sending, and have some of the grace period to deliver.
    pub(super) async fn gather(&self, server: &Server) -> Result<Gathered, Failure> {
        let mut gathering = std::pin::pin!(server.gather());
        tokio::select! {
            gathered = &mut gathering => return Ok(gathered?),
            () = self.told.told() => {}
        }
        server.stop(Stop::Aborted {
            message: "the dataset-manager was told to end (SIGTERM)".to_owned(),
        });
        let left = self.told.at_most(Duration::MAX);
        let gathered = tokio::time::timeout(left - left / RESERVE_SHARE, gathering).await;
        Ok(gathered.map_err(|_| Failure::GraceOver)??)
    }
}
