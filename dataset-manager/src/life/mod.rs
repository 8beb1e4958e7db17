//! The life of the process in a pod: from a run file to a termination message.
//!
//! It listens first, so that probes, status and early workers are answered; then it prepares, lets workers replay, gathers,
//! reports, stores, and holds the result for its reader. Whatever goes wrong, the workers are told to go home, and the
//! message says why.

mod failure;
mod gathering;
mod preparing;
mod signal;
mod story;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reprise_contract::Summary;
use reprise_contract::protocol::{Command, Progress, Stage};
use reprise_contract::termination::TerminationMessage;
use reprise_identity::ManagerSecrets;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;

use crate::control_file;
use crate::coordinator::Rules;
use crate::result::{self, OUTCOMES_FILE};
use crate::run_file::Run;
use crate::server::{Server, ServerSettings};
use crate::settings::Settings;
use crate::storage::{Attempt, Stores};

use failure::Failure;
use preparing::Ready;
use signal::Told;
use story::{Course, Ended, Story};

/// How long workers may take to hear that they may go home.
const FAREWELL: Duration = Duration::from_secs(15);

/// Lives from start to end. To be called inside a Tokio runtime of several threads.
///
/// What went wrong is in the message, too.
pub async fn live(settings: &Settings, run: &Run, secrets: &ManagerSecrets) -> TerminationMessage {
    let story = Arc::new(Story::new(&run.spec));
    let ended = match Life::new(settings, run, story.clone()) {
        Ok(life) => life.listen(secrets).await,
        Err(failure) => Err(failure),
    };
    story.message(ended)
}

struct Life<'a> {
    settings: &'a Settings,
    run: &'a Run,
    story: Arc<Story>,
    told: Told,
    /// Content and result, while the process lives.
    scratch: TempDir,
}

impl<'a> Life<'a> {
    fn new(settings: &'a Settings, run: &'a Run, story: Arc<Story>) -> Result<Self, Failure> {
        let told = Told::listen(settings.grace).map_err(Failure::System)?;
        let scratch = tempfile::Builder::new()
            .prefix("reprise-run-")
            .tempdir_in(&settings.scratch)
            .map_err(|source| Failure::Scratch {
                path: settings.scratch.clone(),
                source,
            })?;
        Ok(Self {
            settings,
            run,
            story,
            told,
            scratch,
        })
    }

    /// Listens for as long as the rest takes.
    async fn listen(&self, secrets: &ManagerSecrets) -> Result<Ended, Failure> {
        let stores = self.stores()?;
        let results = self.folder("results").map_err(Failure::System)?;
        let server = Server::start(self.server_settings(&results), secrets).await?;
        let ended = tokio::select! {
            ended = self.run_to_end(&server, &stores, &results) => ended,
            () = self.obey(&server) => Err(Failure::System(io::Error::other("the control file's watcher ended"))),
        };
        if let Err(failure) = &ended {
            tracing::error!("{failure}");
            server.preparation_failed(failure.to_string());
        }
        server.farewell(self.told.at_most(FAREWELL)).await;
        server.at(Stage::Ended, None);
        server.shut_down().await;
        ended
    }

    fn stores(&self) -> Result<Stores, Failure> {
        let attempt = Attempt {
            name: &self.run.name,
            uid: &self.run.uid,
            number: self.run.attempt.get(),
        };
        let folder = self.settings.results_dir.as_deref();
        Ok(Stores::of(&self.run.spec.results, folder, attempt)?)
    }

    fn server_settings(&self, results: &Path) -> ServerSettings {
        ServerSettings {
            listen: self.settings.listen,
            local: Some(self.settings.local_listen),
            rules: Rules {
                registration: self.settings.registration_timeout,
                on_loss: self.run.spec.workers.loss_policy.into(),
                ..Rules::default()
            },
            outcomes: results.join(OUTCOMES_FILE),
        }
    }

    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.scratch.path().join(name);
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    /// Keeps the deadline of the spec, and carries out what the control file says. Never ends.
    async fn obey(&self, server: &Server) {
        let timeout = self.run.spec.timeout_seconds;
        if let Some(deadline) = timeout.and_then(|seconds| after(u64::from(seconds.get()))) {
            carry_out(
                server,
                &Command {
                    deadline: Some(deadline.to_string()),
                    ..Command::default()
                },
            );
        }
        if let Some(path) = &self.settings.control_file {
            let (send, mut commands) = unbounded_channel();
            tokio::spawn(control_file::watch(path.clone(), send));
            while let Some(command) = commands.recv().await {
                carry_out(server, &command);
            }
        }
        std::future::pending::<()>().await;
    }

    async fn run_to_end(&self, server: &Server, stores: &Stores, results: &Path) -> Result<Ended, Failure> {
        stores.check().await?;
        let ready = Arc::new(self.prepare(server).await?);
        let parts = ready.parts.clone();
        server.plan_ready(parts.serve(&ready.planned, &ready.prepared.content))?;
        let head = &ready.planned.head;
        tracing::info!(
            "the plan is ready: {} requests for {} workers",
            head.requests,
            head.workers
        );
        let gathered = self.gather(server).await?;
        let course = Course::of(&gathered, self.run.spec.workers.loss_policy);
        server.at(Stage::Merging, None);
        let summary = self.report(ready, gathered, results).await?;
        let ended = Ended::of(&summary, &course, self.told.is_told());
        tracing::info!("{}", ended.message);
        server.at(Stage::Storing, None);
        let kept = store(stores, results, server).await;
        self.hold(server, results).await;
        kept?;
        Ok(ended)
    }

    /// The summary, and all files of the result in `results`.
    async fn report(
        &self,
        ready: Arc<Ready>,
        gathered: crate::server::Gathered,
        results: &Path,
    ) -> Result<Summary, Failure> {
        let (run, results) = (self.run.clone(), results.to_owned());
        let report = move || {
            let finished = ready.parts.finished(gathered, run.spec.workers.loss_policy);
            let summary = result::summarise(
                &run.name,
                &run.spec,
                &ready.prepared,
                &ready.planned,
                finished,
                &results,
            )?;
            result::write(&summary, &results, &run.spec.results)?;
            Ok(summary)
        };
        tokio::task::spawn_blocking(report)
            .await
            .map_err(|_| Failure::Panicked)?
    }

    /// Shows the result until it was read, or the hold ends.
    async fn hold(&self, server: &Server, results: &Path) {
        server.at(Stage::Holding, None);
        let hold = self.run.spec.results.hold.get();
        tokio::select! {
            // Nobody came: that is what the limit is for.
            _ = tokio::time::timeout(hold, server.hold(results.to_owned())) => {}
            () = self.told.told() => {}
        }
    }
}

async fn store(stores: &Stores, results: &Path, server: &Server) -> Result<(), Failure> {
    let show = |done, total| {
        let progress = Progress {
            done,
            total: Some(total),
            unit: "bytes".to_owned(),
        };
        server.at(Stage::Storing, Some(progress));
    };
    for place in stores.store(results, &show).await? {
        tracing::info!("The result is stored in {place}");
    }
    Ok(())
}

fn after(seconds: u64) -> Option<Timestamp> {
    Timestamp::now().checked_add(Duration::from_secs(seconds)).ok()
}

fn carry_out(server: &Server, command: &Command) {
    if let Err(error) = server.command(command) {
        tracing::warn!("{error}");
    }
}
