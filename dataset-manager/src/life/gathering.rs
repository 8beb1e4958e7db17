//! Waits for the workers' outcomes.

use reprise_contract::protocol::Stop;

use super::Life;
use super::failure::Failure;
use crate::server::{Gathered, Server};

/// Of what is left of the grace period, so much is for gathering; the rest is for reporting and storing.
const GATHERING: f64 = 0.7;

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
        let left = self.told.at_most(self.settings.grace);
        let gathered = tokio::time::timeout(left.mul_f64(GATHERING), gathering).await;
        Ok(gathered.map_err(|_| Failure::GraceOver)??)
    }
}
