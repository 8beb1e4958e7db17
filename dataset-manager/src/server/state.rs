//! What all calls share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reprise_contract::plan::PlanHead;
use reprise_contract::protocol::{Incarnation, PROTOCOL, Progress, RefusalCode, Stage, Status};
use reprise_identity::{ManagerSecrets, Token};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::shards::WriteShard;
use crate::arrivals::{Arrivals, ClockNumbers};
use crate::coordinator::{Coordinator, Rules};

/// The longest that a call waits for news.
pub(super) const LONG_POLL: Duration = Duration::from_secs(10);
/// How often a call that waits says that its worker is there.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);
/// Batches that are read at the same time: they bound the memory.
const BATCHES_AT_ONCE: usize = 32;

/// What all calls share.
pub(super) struct Shared {
    started: Instant,
    pub(super) manager: Incarnation,
    coordinator: Mutex<Coordinator>,
    news: watch::Sender<u64>,
    served: OnceLock<Served>,
    told: Mutex<Told>,
    clocks: Mutex<Vec<Option<ClockNumbers>>>,
    results: watch::Sender<Results>,
    /// A T0 and what the wall clock shows then, so that it is told the same each time.
    t0: Mutex<Option<(i64, Timestamp)>>,
    refused: Mutex<HashMap<RefusalCode, u64>>,
    pub(super) batches: Semaphore,
    pub(super) worker: Token,
    pub(super) operator: Token,
}

/// The plan as it is handed out.
pub(super) struct Served {
    pub(super) head: PlanHead,
    pub(super) write_shard: WriteShard,
    pub(super) arrivals: Arrivals,
}

/// What was told about the run from outside of gathering.
struct Told {
    stage: Stage,
    progress: Option<Progress>,
    dataset: Option<serde_json::Value>,
}

/// Whether the result can be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    pub(super) folder: Option<PathBuf>,
    pub(super) is_acknowledged: bool,
}

impl Shared {
    pub(super) fn new(rules: Rules, manager: Incarnation, secrets: &ManagerSecrets) -> Self {
        Self {
            started: Instant::now(),
            coordinator: Mutex::new(Coordinator::new(rules, manager.clone())),
            manager,
            news: watch::Sender::new(0),
            served: OnceLock::new(),
            told: Mutex::new(Told {
                stage: Stage::Pinning,
                progress: None,
                dataset: None,
            }),
            clocks: Mutex::new(Vec::new()),
            results: watch::Sender::new(Results::default()),
            t0: Mutex::new(None),
            refused: Mutex::new(HashMap::new()),
            batches: Semaphore::new(BATCHES_AT_ONCE),
            worker: secrets.worker.clone(),
            operator: secrets.operator.clone(),
        }
    }

    /// The manager's clock: nanoseconds since it started.
    pub(super) fn now(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// What the wall clock shows when the manager's clock shows this T0.
    pub(super) fn wall(&self, t0_ns: i64) -> Timestamp {
        let mut t0 = lock(&self.t0);
        if let Some((known_ns, wall)) = *t0
            && known_ns == t0_ns
        {
            return wall;
        }
        let ahead = SignedDuration::from_nanos(t0_ns.saturating_sub(self.now()));
        let wall = Timestamp::now().saturating_add(ahead).unwrap_or(Timestamp::MAX);
        *t0 = Some((t0_ns, wall));
        wall
    }

    /// Counts a call that was refused.
    pub(super) fn count_refused(&self, code: RefusalCode) {
        *lock(&self.refused).entry(code).or_default() += 1;
    }

    /// The calls that were refused, by code.
    pub(super) fn refused(&self) -> HashMap<RefusalCode, u64> {
        lock(&self.refused).clone()
    }

    /// What the manager's clock shows when the wall clock shows this.
    pub(super) fn manager_ns(&self, wall: Timestamp) -> i64 {
        let ahead = wall.duration_since(Timestamp::now()).as_nanos();
        self.now()
            .saturating_add(i64::try_from(ahead).unwrap_or(i64::MAX))
    }

    /// Does something with the coordinator, and wakes whoever waits if that is news.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Coordinator, i64) -> R) -> R {
        let mut coordinator = lock(&self.coordinator);
        let before = coordinator.news();
        let result = act(&mut coordinator, self.now());
        let after = coordinator.news();
        if after != before {
            self.news.send_replace(after);
        }
        result
    }

    /// Asks the coordinator until it has an answer, but no longer than `limit`: at once, with any news, and every second.
    pub(super) async fn wait_for<R>(
        &self,
        limit: Duration,
        mut ask: impl FnMut(&mut Coordinator, i64) -> Option<R>,
    ) -> Option<R> {
        let end = tokio::time::Instant::now() + limit;
        let mut news = self.news.subscribe();
        loop {
            news.borrow_and_update();
            if let Some(answer) = self.with(&mut ask) {
                return Some(answer);
            }
            let now = tokio::time::Instant::now();
            if now >= end {
                return None;
            }
            // Whether news came or the time was up: ask again.
            let _ = tokio::time::timeout_at(end.min(now + HEARTBEAT), news.changed()).await;
        }
    }

    pub(super) fn serve_plan(&self, served: Served) {
        // A second plan for one run does not exist; the first one stays.
        let _ = self.served.set(served);
    }

    pub(super) fn served(&self) -> Option<&Served> {
        self.served.get()
    }

    pub(super) fn set_stage(&self, stage: Stage, progress: Option<Progress>) {
        let mut told = lock(&self.told);
        told.stage = stage;
        told.progress = progress;
    }

    pub(super) fn set_dataset(&self, dataset: serde_json::Value) {
        lock(&self.told).dataset = Some(dataset);
    }

    pub(super) fn note_clock(&self, index: u32, clock: Option<ClockNumbers>) {
        let at = usize::try_from(index).unwrap_or_default();
        let mut clocks = lock(&self.clocks);
        if clocks.len() <= at {
            clocks.resize(at + 1, None);
        }
        clocks[at] = clock;
    }

    pub(super) fn clock_error_ms(&self, index: u32) -> Option<f64> {
        let clock = *lock(&self.clocks).get(usize::try_from(index).ok()?)?;
        clock.map(|clock| clock.error_ns as f64 / 1e6)
    }

    pub(super) fn show_results(&self, folder: PathBuf) {
        self.results.send_modify(|results| results.folder = Some(folder));
    }

    pub(super) fn results(&self) -> Results {
        self.results.borrow().clone()
    }

    /// Notes that the result was read; false when there is none yet.
    pub(super) fn acknowledge(&self) -> bool {
        self.results.send_if_modified(|results| {
            results.is_acknowledged |= results.folder.is_some();
            results.is_acknowledged
        })
    }

    pub(super) async fn acknowledged(&self) {
        let mut results = self.results.subscribe();
        // The sender lives as long as this.
        let _ = results.wait_for(|results| results.is_acknowledged).await;
    }

    /// Whether the plan can be served.
    pub(super) fn is_ready(&self) -> bool {
        self.served().is_some() && self.with(|coordinator, _| coordinator.failure().is_none())
    }

    pub(super) fn status(&self) -> Status {
        let (stage, workers, numbers, message, t0_ns, ready) = self.with(|coordinator, now| {
            coordinator.advance(now);
            let workers = coordinator.worker_statuses(now, |index| self.clock_error_ms(index));
            (
                coordinator.stage(),
                workers,
                coordinator.numbers(now),
                coordinator.message(),
                coordinator.t0_ns(),
                coordinator.joined_and_ready().1,
            )
        });
        let told = lock(&self.told);
        let of = |done: u64, total: u64, unit: &str| Progress {
            done,
            total: Some(total),
            unit: unit.to_owned(),
        };
        let progress = match stage {
            Some(Stage::Gathering | Stage::Arming) => Some(of(ready.into(), workers.len() as u64, "workers")),
            Some(_) => Some(of(numbers.received, numbers.planned, "requests")),
            None => told.progress.clone(),
        };
        Status {
            protocol: PROTOCOL,
            manager: self.manager.clone(),
            stage: stage.unwrap_or(told.stage),
            progress,
            t0: t0_ns.map(|t0_ns| self.wall(t0_ns).to_string()),
            workers,
            numbers,
            message,
            dataset: told.dataset.clone(),
        }
    }
}

/// Lets time pass for the coordinator when nobody calls.
pub(super) async fn keep_time(shared: Arc<Shared>, end: CancellationToken) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = end.cancelled() => return,
            _ = ticks.tick() => shared.with(Coordinator::advance),
        }
    }
}

/// What a panic left behind is still whole: nothing here panics halfway through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
