//! The dataset-manager's HTTP server: what workers, the operator and people ask it.
//!
//! [`Server::start`] listens before there is a plan, so that probes, status and workers that came early are answered.
//! [`Server::plan_ready`] lets workers join, [`Server::gather`] waits for their outcomes, [`Server::hold`] shows the result.
//! Every call is described in `docs/protocol.md`.

mod access;
mod answers;
mod connections;
mod gathered;
mod operator;
mod people;
mod results;
mod shards;
mod state;
mod workers;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reprise_content::schedule::Schedule;
use reprise_content::store::Content;
use reprise_contract::plan::PlanHead;
use reprise_contract::protocol::{Command, Progress, Stage, Status, Stop};
use reprise_identity::{KeyError, ManagerSecrets, random_incarnation};
use reprise_report::OutcomeFileError;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::arrivals::{Arrivals, Planned};
use crate::coordinator::{Enough, Failure, PlanFacts, Rules, ShardFacts};

pub use connections::TlsError;
pub use gathered::{ClockNumbers, GatherError, Gathered, WorkerResult};
pub use operator::CommandError;
pub use shards::WriteShard;
use state::Shared;

/// How long calls that are under way may take to end when the server stops.
const LAST_CALLS: Duration = Duration::from_secs(2);
/// How long it is waited for a failure in one go.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the server listens and by which rules it gathers.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The address that workers and the operator call, with TLS and tokens.
    pub listen: SocketAddr,
    /// A loopback address for people, without TLS and token, that can only be read from.
    pub local: Option<SocketAddr>,
    /// What is asked of workers.
    pub rules: Rules,
    /// The file that outcomes are kept in, `outcomes.parquet` in a folder that exists.
    pub outcomes: PathBuf,
}

/// A server that could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is in use or not ours.
    #[error("Cannot listen on {address}: {source}. Choose another address or port.")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The listener for people can be reached by others.
    #[error(
        "Cannot listen on {0} without TLS and token: it is not a loopback address. Use 127.0.0.1 or [::1], and reach it by \
         kubectl port-forward."
    )]
    NotLoopback(SocketAddr),
    /// The certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No random numbers.
    #[error(transparent)]
    Random(#[from] KeyError),
}

/// A plan to hand out.
pub struct PlanServed {
    /// What all requests have in common.
    pub head: PlanHead,
    /// The turns.
    pub content: Content,
    /// The requests.
    pub schedule: Arc<Schedule>,
    /// The requests of each shard, as indexes into the schedule in ascending order: one shard for each worker.
    pub shards: Vec<Arc<[u32]>>,
    /// Writes a shard for its worker.
    pub write_shard: WriteShard,
    /// Whether the workers are enough.
    pub enough: Enough,
}

/// The server. It ends with [`Self::shut_down`].
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    local: Option<SocketAddr>,
    rules: Rules,
    outcomes: PathBuf,
    end: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Starts listening. To be called inside a Tokio runtime.
    ///
    /// # Errors
    /// When an address cannot be listened on or the secrets cannot be used.
    pub async fn start(settings: ServerSettings, secrets: &ManagerSecrets) -> Result<Self, StartError> {
        let acceptor = connections::acceptor(secrets)?;
        let listener = listen(settings.listen).await?;
        let local_listener = match settings.local {
            Some(address) if !address.ip().is_loopback() => return Err(StartError::NotLoopback(address)),
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let shared = Arc::new(Shared::new(
            settings.rules.clone(),
            random_incarnation()?,
            secrets,
        ));
        let (end, tasks) = (CancellationToken::new(), TaskTracker::new());
        let address = address_of(&listener, settings.listen)?;
        let local = match &local_listener {
            Some(listener) => Some(address_of(listener, settings.listen)?),
            None => None,
        };
        let routes = access::routes(&shared);
        tasks.spawn(connections::serve_tls(listener, acceptor, routes, end.clone()));
        if let Some(listener) = local_listener {
            tasks.spawn(connections::serve_plain(
                listener,
                people::routes(&shared),
                end.clone(),
            ));
        }
        tasks.spawn(state::keep_time(Arc::clone(&shared), end.clone()));
        Ok(Self {
            shared,
            address,
            local,
            rules: settings.rules,
            outcomes: settings.outcomes,
            end,
            tasks,
        })
    }

    /// The address that workers and the operator call; the port is known even when the settings left it open.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for people.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Says how far the run has come, outside of gathering.
    pub fn at(&self, stage: Stage, progress: Option<Progress>) {
        self.shared.set_stage(stage, progress);
    }

    /// Shows what is known of the trace: the `dataset` of the result's provenance.
    pub fn describe_dataset(&self, dataset: serde_json::Value) {
        self.shared.set_dataset(dataset);
    }

    /// Hands the plan out: workers may join, and have to within the registration timeout.
    ///
    /// # Errors
    /// When the file of outcomes cannot be created.
    pub fn plan_ready(&self, plan: PlanServed) -> Result<(), OutcomeFileError> {
        let planned = Planned {
            content: plan.content,
            schedule: Arc::clone(&plan.schedule),
            shards: plan.shards.into(),
        };
        let facts = |requests: &Arc<[u32]>| ShardFacts::of(&plan.schedule, requests, plan.head.timeout);
        let facts = PlanFacts {
            shards: planned.shards.iter().map(facts).collect(),
            timeout: plan.head.timeout,
            enough: plan.enough,
        };
        let arrivals = Arrivals::start(self.outcomes.clone(), planned)?;
        self.shared.serve_plan(state::Served {
            head: plan.head,
            write_shard: plan.write_shard,
            arrivals,
        });
        self.shared
            .with(|coordinator, now| coordinator.plan_ready(now, facts));
        Ok(())
    }

    /// Waits until every outcome is there or given up on.
    ///
    /// # Errors
    /// When the run failed before T0, or its outcomes could not be kept.
    pub async fn gather(&self) -> Result<Gathered, GatherError> {
        gathered::gather(&self.shared).await
    }

    /// Carries a command out: of the control file, or of a person.
    ///
    /// # Errors
    /// When its deadline is no time.
    pub fn command(&self, command: &Command) -> Result<(), CommandError> {
        operator::carry_out(&self.shared, command)
    }

    /// Ends the run before its end: see [`crate::coordinator::Coordinator::stop`].
    pub fn stop(&self, stop: Stop) {
        self.shared.with(|coordinator, now| coordinator.stop(now, stop));
    }

    /// Sends workers home that wait for a plan which will never come.
    pub fn preparation_failed(&self, message: String) {
        self.shared
            .with(|coordinator, _| coordinator.fail(Failure::Preparation(message)));
    }

    /// Shows the files of this folder as the result, and waits until somebody says that they were read.
    pub async fn hold(&self, folder: PathBuf) {
        self.shared.show_results(folder);
        self.shared.acknowledged().await;
    }

    /// How the run stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Waits until the run has failed: was cancelled before T0, or its deadline passed.
    pub async fn failure(&self) -> Failure {
        loop {
            let failed = self.shared.wait_for(PATIENCE, |coordinator, now| {
                coordinator.advance(now);
                coordinator.failure().cloned()
            });
            if let Some(failure) = failed.await {
                return failure;
            }
        }
    }

    /// Waits until every worker that is still there was told to go home, but no longer than `limit`.
    pub async fn farewell(&self, limit: Duration) {
        let all_home = self.shared.wait_for(limit, |coordinator, now| {
            coordinator.all_are_home(now).then_some(())
        });
        if all_home.await.is_none() {
            tracing::warn!("not every worker has asked what to do before the dataset-manager ends");
        }
    }

    /// The rules that workers are held to.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Answers the calls that are under way, and ends.
    pub async fn shut_down(self) {
        self.end.cancel();
        self.tasks.close();
        // A call that is still waiting after that has nothing to lose.
        let _ = tokio::time::timeout(LAST_CALLS, self.tasks.wait()).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| StartError::Listen { address, source })
}

fn address_of(listener: &TcpListener, wanted: SocketAddr) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|source| StartError::Listen {
        address: wanted,
        source,
    })
}
