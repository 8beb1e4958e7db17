//! Prepares the plan within the startup budget, and shows how far that has come.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reprise_contract::protocol::{Progress, Stage};
use tokio_util::sync::CancellationToken;

use super::Life;
use super::failure::Failure;
use super::story::Story;
use crate::load;
use crate::parts::Parts;
use crate::planned::{Planned, plan};
use crate::prepare::{Prepared, Waiting, prepare};
use crate::result::dataset_provenance;
use crate::run_file::Run;
use crate::server::Server;
use crate::settings::DEFAULT_STARTUP_BUDGET;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(500);
/// How long before the end of the budget the process ends by itself, at least; half of a budget of less than twice that.
const LEAST_MARGIN: Duration = Duration::from_secs(10);
/// The same as a part of the budget.
const MARGIN_SHARE: u32 = 20;
/// How long a preparation that was ended may take to clean up.
const CLEAN_UP: Duration = Duration::from_secs(2);

/// Who chose how many workers there are.
const CHOSEN_BY: &str = "workers.replicas";

/// A plan that can be served.
pub(super) struct Ready {
    pub(super) prepared: Prepared,
    pub(super) planned: Planned,
    pub(super) parts: Parts,
}

impl Life<'_> {
    /// From the reference to a plan and its parts.
    pub(super) async fn prepare(&self, server: &Server) -> Result<Ready, Failure> {
        let cancel = CancellationToken::new();
        let work = {
            let (run, story, cancel) = (self.run.clone(), self.story.clone(), cancel.clone());
            let folder = self.folder("content").map_err(Failure::System)?;
            move || ready(&run, &story, &folder, &cancel)
        };
        let mut work = tokio::task::spawn_blocking(work);
        let budget = self.budget();
        let failure = tokio::select! {
            ready = &mut work => {
                let ready = ready.map_err(|_| Failure::Panicked)??;
                self.describe(server, &ready);
                return Ok(ready);
            }
            () = tokio::time::sleep(usable(budget)) => Failure::StartupBudget {
                reference: self.story.reference(),
                budget,
                so_far: self.story.so_far(),
            },
            () = self.told.told() => Failure::Terminated,
            failure = server.failure() => Failure::Run(failure),
            () = show(&self.story, server) => Failure::Panicked,
        };
        cancel.cancel();
        // What it would say now is less than what is known.
        let _ = tokio::time::timeout(CLEAN_UP, work).await;
        Err(failure)
    }

    fn budget(&self) -> Duration {
        let of_spec = self.run.spec.dataset.startup_budget;
        let given = self.settings.startup_budget.or_else(|| of_spec.map(Into::into));
        given.unwrap_or(DEFAULT_STARTUP_BUDGET)
    }

    fn describe(&self, server: &Server, ready: &Ready) {
        let dataset = dataset_provenance(&ready.prepared, self.run.spec.replay.seed);
        match serde_json::to_value(dataset) {
            Ok(dataset) => server.describe_dataset(dataset),
            Err(error) => tracing::warn!("the status does not show the trace: {error}"),
        }
    }
}

/// How long it may take before the process ends itself.
fn usable(budget: Duration) -> Duration {
    let margin = (budget / MARGIN_SHARE).max(LEAST_MARGIN);
    budget.saturating_sub(margin).max(budget / 2)
}

/// Shows how far it has come. Never ends.
async fn show(story: &Story, server: &Server) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        let (stage, progress): (Stage, Option<Progress>) = story.progress();
        server.at(stage, progress);
        if let Some(dataset) = story.take_pin() {
            server.describe_dataset(dataset);
        }
    }
}

fn ready(run: &Run, story: &Arc<Story>, folder: &Path, cancel: &CancellationToken) -> Result<Ready, Failure> {
    let spec = &run.spec;
    let workers = NonZeroU32::from(spec.workers.replicas);
    let observer = story.observer();
    let waiting = Waiting::new(cancel, &observer)?;
    let prepared = prepare(
        &spec.dataset,
        spec.target.api,
        spec.replay.seed,
        &|times| load::check(&spec.replay, times, workers),
        folder,
        &waiting,
    )?;
    let planned = plan(spec, &prepared, workers)?;
    let parts = Parts::of(&planned, CHOSEN_BY);
    Ok(Ready {
        prepared,
        planned,
        parts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_ends_some_seconds_before_its_budget() {
        let usable_s = |budget_s| usable(Duration::from_secs(budget_s)).as_secs();
        assert_eq!([3600, 100, 10].map(usable_s), [3420, 90, 5]);
    }
}
