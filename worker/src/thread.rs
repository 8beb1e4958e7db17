//! One runtime: its share of the sessions, its connections and its timer.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use reprise_content::schedule::Request;
use reprise_content::store::TurnRef;
use reprise_contract::{Histogram, Outcome};
use rustls::ClientConfig;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, nanos};
use crate::connection::{IDLE_LIMIT, Pool};
use crate::control::Control;
use crate::gate::Gate;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::replay::ReplayError;
use crate::session;
use crate::target::Resolved;
use crate::timer::Timer;

/// How often outcomes are handed on when there are few.
const FLUSH_PERIOD: Duration = Duration::from_millis(100);
/// The longest that opening connections beforehand may take.
const WARM_UP_LIMIT: Duration = Duration::from_secs(5);
/// The most connections that are opened beforehand.
const MAX_WARM_CONNECTIONS: usize = 1_024;
/// Requests that are due within this time may want a connection each: 50 ms.
const MOMENT_NS: i64 = 50_000_000;
/// Sessions that are started before those already started get a turn: fewer than tokio polls in one go, so that no backlog
/// grows.
const STARTS_AT_ONCE: usize = 32;

/// What all runtimes of a replay share; none of it is written to while requests are in flight, but for the hand-out of
/// sessions in a closed loop.
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) gate: Gate,
    pub(crate) control: Control,
    pub(crate) addresses: Vec<Resolved>,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// What one runtime has to do.
pub(crate) enum Share {
    /// Start each of these sessions (by its first request) when it is due; in the order of their offsets.
    Open(Vec<u32>),
    /// Keep so many sessions going, taking them from the common list.
    Closed { sessions: usize, list: Arc<SessionList> },
}

/// Sessions to be handed out one by one.
pub(crate) struct SessionList {
    firsts: Vec<u32>,
    next: AtomicUsize,
}

impl SessionList {
    pub(crate) fn new(firsts: Vec<u32>) -> Self {
        Self {
            firsts,
            next: AtomicUsize::new(0),
        }
    }

    fn take(&self) -> Option<u32> {
        self.firsts
            .get(self.next.fetch_add(1, Ordering::Relaxed))
            .copied()
    }
}

/// How a runtime meets the others at the start.
pub(crate) struct Start {
    /// Says that it is ready, or why it cannot be.
    pub(crate) ready: mpsc::Sender<Result<(), ReplayError>>,
    /// Brings T0.
    pub(crate) t0: oneshot::Receiver<Instant>,
}

/// One runtime at work.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    control: Control,
    pub(crate) clock: Clock,
    pub(crate) recorder: Recorder,
    pools: Vec<Rc<Pool>>,
    timer: Timer,
}

/// Replays a share on a runtime of the calling thread; gives back the gaps between chunks.
pub(crate) fn run(
    shared: Arc<Shared>,
    share: Share,
    start: Start,
    outcomes: mpsc::SyncSender<Vec<Outcome>>,
) -> Histogram {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = start.ready.send(Err(ReplayError::Runtime(error)));
            return Histogram::default();
        }
    };
    tokio::task::LocalSet::new().block_on(&runtime, replay(shared, share, start, outcomes))
}

async fn replay(
    shared: Arc<Shared>,
    share: Share,
    start: Start,
    outcomes: mpsc::SyncSender<Vec<Outcome>>,
) -> Histogram {
    let recorder = Recorder::new(outcomes);
    let prepared = prepare(&shared, &share).await;
    let (timer, pools) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = start.ready.send(Err(error));
            return recorder.finish();
        }
    };
    let _ = start.ready.send(Ok(()));
    // No T0 comes when another runtime could not get ready.
    let Ok(t0) = start.t0.await else {
        return recorder.finish();
    };

    let worker = Rc::new(Worker {
        control: shared.control.for_runtime(),
        shared,
        clock: Clock::starting_at(t0),
        recorder,
        pools,
        timer,
    });
    let flushing = tokio::task::spawn_local(flush_now_and_then(worker.recorder.clone()));
    match share {
        Share::Open(firsts) => open_loop(&worker, &firsts).await,
        Share::Closed { sessions, list } => closed_loop(&worker, sessions, &list).await,
    }
    flushing.abort();
    worker.recorder.finish()
}

/// Opens the timer and the connections that the share will want at once.
async fn prepare(shared: &Shared, share: &Share) -> Result<(Timer, Vec<Rc<Pool>>), ReplayError> {
    let timer = Timer::start().map_err(ReplayError::Runtime)?;
    let pools: Vec<_> = shared
        .plan
        .targets
        .iter()
        .zip(&shared.addresses)
        .map(|(target, addresses)| Rc::new(Pool::new(target.clone(), addresses.clone(), shared.tls.clone())))
        .collect();
    let connections = share.connections_at_once(&shared.plan);
    tokio::select! {
        () = warm_up(&pools, &connections) => {}
        () = shared.control.stopped() => {}
    }
    Ok((timer, pools))
}

/// Opens connections before T0, so many for each target, so that the first requests do not wait for them. One that fails is not
/// missed: requests open their own, and their outcomes say what went wrong.
async fn warm_up(pools: &[Rc<Pool>], connections: &[usize]) {
    let opening = TaskTracker::new();
    for (pool, connections) in pools.iter().zip(connections) {
        for _ in 0..*connections {
            let pool = pool.clone();
            opening.spawn_local(async move {
                if let Ok(connection) = pool.open().await {
                    pool.give_back(connection).await;
                }
            });
        }
    }
    opening.close();
    let _ = tokio::time::timeout(WARM_UP_LIMIT, opening.wait()).await;
}

/// Starts each session when it is due, as long as any goes.
async fn open_loop(worker: &Rc<Worker>, firsts: &[u32]) {
    let sessions = TaskTracker::new();
    let mut started = 0;
    for first in firsts.iter().copied() {
        let request = worker.request(first);
        let due_ns = request.offset_ns.unwrap_or_default();
        worker.wait_until_due(request, due_ns).await;
        if !worker.still_sends(request, due_ns) {
            break;
        }
        let worker = worker.clone();
        sessions.spawn_local(async move { session::replay(&worker, first, due_ns).await });
        started += 1;
        if started % STARTS_AT_ONCE == 0 {
            tokio::task::yield_now().await;
        }
    }
    sessions.close();
    sessions.wait().await;
    // Those that do not go are noted when nothing is measured any more.
    for first in firsts[started..].iter().copied() {
        let due_ns = worker.request(first).offset_ns.unwrap_or_default();
        session::replay(worker, first, due_ns).await;
    }
}

/// Keeps so many sessions going from T0 on until the list is empty.
async fn closed_loop(worker: &Rc<Worker>, sessions: usize, list: &Arc<SessionList>) {
    worker.wait_until(0).await;
    let going = TaskTracker::new();
    for _ in 0..sessions {
        let (worker, list) = (worker.clone(), list.clone());
        going.spawn_local(async move {
            while let Some(first) = worker.next_of(&list) {
                session::replay(&worker, first, worker.clock.now()).await;
            }
        });
    }
    going.close();
    going.wait().await;
    // Those that do not go are noted when nothing is measured any more.
    while let Some(first) = list.take() {
        session::replay(worker, first, worker.clock.now()).await;
    }
}

async fn flush_now_and_then(recorder: Recorder) {
    let mut period = tokio::time::interval(FLUSH_PERIOD);
    loop {
        period.tick().await;
        recorder.flush();
    }
}

impl Worker {
    pub(crate) fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// The request in place `index` of the schedule.
    pub(crate) fn request(&self, index: u32) -> Request {
        self.plan().schedule.requests[index as usize]
    }

    pub(crate) fn turn(&self, request: Request) -> TurnRef<'_> {
        self.plan().content.turn(request.turn)
    }

    /// The target that all turns of a session go to.
    #[allow(clippy::cast_possible_truncation, reason = "a spec has at most 64 targets")]
    pub(crate) fn target_index(&self, session: u32) -> u16 {
        target_of(session, self.pools.len()) as u16
    }

    pub(crate) fn pool(&self, session: u32) -> &Pool {
        &self.pools[usize::from(self.target_index(session))]
    }

    /// When a later turn is due whose session is ready for it: at its recorded time, or after its delay, now at the earliest,
    /// and never before the turn before it, which may not have gone.
    pub(crate) fn due_of_turn(&self, request: Request, previous_due_ns: i64) -> i64 {
        let ready = self.clock.now().max(previous_due_ns);
        let earliest = ready.saturating_add_unsigned(request.delay_ns);
        request.offset_ns.map_or(earliest, |offset| offset.max(earliest))
    }

    /// Whether a request that is due goes, as far as the run's end decides it.
    fn still_sends(&self, request: Request, due_ns: i64) -> bool {
        self.control().cause().is_none() && !self.gate().is_over_by(request.is_warmup, due_ns)
    }

    /// The next session of a closed loop, as long as any goes.
    fn next_of(&self, list: &SessionList) -> Option<u32> {
        let is_measured_over = self.gate().is_over_by(false, self.clock.now());
        if self.control().cause().is_some() || is_measured_over {
            None
        } else {
            list.take()
        }
    }

    /// Waits until a request is due. Does not wait for one that will not go, as the run is stopped or its duration over by
    /// then.
    pub(crate) async fn wait_until_due(&self, request: Request, due_ns: i64) {
        if !self.gate().is_over_by(request.is_warmup, due_ns) {
            self.wait_until(due_ns).await;
        }
    }

    /// Waits until `offset_ns`, or until the run is stopped.
    async fn wait_until(&self, offset_ns: i64) {
        let deadline = self.clock.instant(offset_ns);
        if Instant::now() >= deadline || self.control().cause().is_some() {
            return;
        }
        tokio::select! {
            () = self.timer.sleep_until(deadline) => {}
            () = self.control().stopped() => {}
        }
    }
}

impl Share {
    /// How many connections to each target this share may want at the same moment, while those opened before T0 are still of
    /// use.
    fn connections_at_once(&self, plan: &Plan) -> Vec<usize> {
        let targets = plan.targets.len();
        let most = MAX_WARM_CONNECTIONS / targets.max(1);
        let of_target = |target: usize| match self {
            Self::Open(firsts) => {
                let requests = firsts.iter().map(|first| plan.schedule.requests[*first as usize]);
                let early =
                    requests.take_while(|request| request.offset_ns.is_none_or(|ns| ns < nanos(IDLE_LIMIT)));
                let its_own = early.filter(|request| {
                    target_of(plan.content.turn(request.turn).session(), targets) == target
                });
                busiest_moment(its_own.filter_map(|request| request.offset_ns))
            }
            Self::Closed { sessions, .. } => sessions.div_ceil(targets),
        };
        (0..targets).map(|target| of_target(target).min(most)).collect()
    }
}

/// Which of so many targets a session goes to: sessions take turns.
fn target_of(session: u32, targets: usize) -> usize {
    session as usize % targets
}

/// The most of these ascending offsets that lie within [`MOMENT_NS`].
fn busiest_moment(offsets: impl Iterator<Item = i64>) -> usize {
    let mut moment = VecDeque::new();
    let mut busiest = 0;
    for offset in offsets {
        moment.push_back(offset);
        while moment.front().is_some_and(|first| offset - first > MOMENT_NS) {
            moment.pop_front();
        }
        busiest = busiest.max(moment.len());
    }
    busiest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_moment_is_the_fullest_span_of_its_length() {
        let ms = |offsets: &[i64]| busiest_moment(offsets.iter().map(|offset| offset * 1_000_000));
        assert_eq!(ms(&[]), 0);
        assert_eq!(ms(&[0, 100, 200]), 1);
        assert_eq!(ms(&[0, 0, 0, 500, 510, 520, 530, 900]), 4);
    }

    #[test]
    fn a_session_list_hands_out_each_session_once() {
        let list = SessionList::new(vec![3, 5]);
        assert_eq!(
            [list.take(), list.take(), list.take(), list.take()],
            [Some(3), Some(5), None, None]
        );
    }
}
