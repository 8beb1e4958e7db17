//! A run by several processes of this machine: the dataset-manager's server in this one, workers as its children.

mod auto;
mod processes;
mod watching;

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Duration;

use reprise_crds::ReplayJobSpec;
use reprise_dataset_manager::coordinator::Failure as RunFailure;
use reprise_dataset_manager::coordinator::Rules;
use reprise_dataset_manager::parts::Parts;
use reprise_dataset_manager::planned::{self, Planned};
use reprise_dataset_manager::prepare::Prepared;
use reprise_dataset_manager::result::{Finished, OUTCOMES_FILE};
use reprise_dataset_manager::server::{GatherError, Gathered, Server, ServerSettings};
use reprise_identity::{Certificate, RunKey, RunSecrets};
use tokio::runtime::{Builder, Runtime};

use crate::args::Workers;
use crate::exit::Failure;
use crate::run::deadline::Deadline;
use processes::{Processes, WorkerSettings};

/// Where the server of this process listens: nobody else is to reach it, and any free port will do.
const LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
/// The name in the certificate.
const HOST: &str = "127.0.0.1";
/// How long the certificate is good: no run takes longer.
const CERTIFICATE_LIFE: Duration = Duration::from_hours(24 * 30);
/// How long a run that is over waits for its workers.
const FAREWELL: Duration = Duration::from_secs(10);

/// What a run by several processes needs.
pub(super) struct Job<'a> {
    pub(super) spec: &'a ReplayJobSpec,
    pub(super) prepared: &'a Prepared,
    pub(super) planned: &'a Planned,
    /// Who chose how many workers there are.
    pub(super) chosen_by: &'a str,
    /// Threads of each worker.
    pub(super) threads: Option<NonZeroUsize>,
    /// The folder for results.
    pub(super) folder: &'a Path,
    /// The folder for what is needed while the run lasts.
    pub(super) scratch: &'a Path,
}

/// The plan for so many worker processes, and who chose how many.
pub(super) fn plan(
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    workers: Workers,
    threads: Option<NonZeroUsize>,
    scratch: &Path,
) -> Result<(Planned, String), Failure> {
    let (count, chosen_by) = match workers {
        Workers::Count(count) => (count, format!("--workers {count}")),
        Workers::Auto => auto::count(spec, prepared, threads, scratch)?,
    };
    let planned = planned::plan(spec, prepared, count).map_err(Failure::input)?;
    // What no worker can use is told at once, and once.
    super::plan::whole(&planned, &prepared.content, threads)?;
    Ok((planned, chosen_by))
}

/// Replays the plan by worker processes; outcomes go to `outcomes.parquet` in the folder for results.
pub(super) fn measure(job: &Job<'_>, deadline: &Deadline) -> Result<Finished, Failure> {
    let parts = Parts::of(job.planned, job.chosen_by);
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let gathered = gather(job, &parts, &runtime, deadline)?;
    Ok(parts.finished(gathered, job.spec.workers.loss_policy))
}

fn gather(job: &Job<'_>, parts: &Parts, runtime: &Runtime, deadline: &Deadline) -> Result<Gathered, Failure> {
    let names = [HOST.to_owned()];
    let certificate = Certificate::for_run(&names, CERTIFICATE_LIFE)?;
    let secrets = RunSecrets::new(certificate, &RunKey::generate()?, "local", 1);
    let folder = job.scratch.join("secrets");
    std::fs::create_dir(&folder)?;
    secrets.write(&folder)?;
    let settings = ServerSettings {
        listen: LISTEN.into(),
        local: None,
        rules: Rules {
            on_loss: job.spec.workers.loss_policy.into(),
            ..Rules::default()
        },
        outcomes: job.folder.join(OUTCOMES_FILE),
    };
    runtime.block_on(async {
        let server = Server::start(settings, &secrets.of_manager()).await?;
        server.plan_ready(parts.serve(job.planned, &job.prepared.content))?;
        let mut processes = Processes::start(WorkerSettings {
            manager: format!("https://{}", server.address()),
            secrets: folder,
            scratch: job.scratch.to_owned(),
            threads: threads(job),
            workers: job.planned.head.workers,
        })?;
        let watched = watching::watch(&server, &mut processes, deadline, job).await;
        if watched.is_ok() {
            server.farewell(FAREWELL).await;
        }
        server.shut_down().await;
        processes.end();
        watched
    })
}

/// Threads of each worker.
fn threads(job: &Job<'_>) -> NonZeroUsize {
    let workers = NonZeroUsize::try_from(job.planned.head.workers).unwrap_or(NonZeroUsize::MAX);
    job.threads.unwrap_or_else(|| {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        NonZeroUsize::new(cores / workers).unwrap_or(NonZeroUsize::MIN)
    })
}

/// Whose fault it is that nothing was gathered.
fn failure(error: GatherError) -> Failure {
    match error {
        GatherError::Failed(RunFailure::Cancelled) => Failure::Cancelled,
        GatherError::Failed(failure @ (RunFailure::WorkerFailed { .. } | RunFailure::TooFew(_))) => {
            Failure::input(failure)
        }
        error => error.into(),
    }
}
