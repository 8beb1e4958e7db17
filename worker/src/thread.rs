//! One runtime: its share of the sessions, its connections and its timer.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use reprise_content::schedule::Request;
use reprise_content::store::TurnRef;
use rustls::ClientConfig;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, nanos};
use crate::connection::{IDLE_LIMIT, Pool};
use crate::control::Control;
use crate::gate::Gate;
use crate::pace::PaceReader;
use crate::plan::Plan;
use crate::recorder::{Batch, Recorder};
use crate::replay::ReplayError;
use crate::sent::OwnCount;
use crate::session;
use crate::start::Start;
use crate::target::Resolved;
use crate::timer::Timer;

/// How often outcomes are handed on when there are few.
const FLUSH_PERIOD: Duration = Duration::from_millis(100);
/// The longest that opening connections beforehand may take.
const WARM_UP_LIMIT: Duration = Duration::from_secs(5);
/// So long before T0 connections are opened that are missing by then: time for them, and they are still young at T0.
const REOPENING_SPAN: Duration = Duration::from_millis(1_500);
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

/// What a runtime is made with, and how it meets the others.
pub(crate) struct Place {
    /// What it has to do.
    pub(crate) share: Share,
    /// Says that it is ready, or why it cannot be.
    pub(crate) ready: mpsc::Sender<Result<(), ReplayError>>,
    /// Brings starts; no more come when the replay is given up.
    pub(crate) starts: UnboundedReceiver<Start>,
    /// Takes outcomes.
    pub(crate) outcomes: mpsc::SyncSender<Batch>,
    /// What it has sent.
    pub(crate) sent: OwnCount,
}

/// One runtime at work.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    control: Control,
    pub(crate) clock: Clock,
    pace: PaceReader,
    pub(crate) recorder: Recorder,
    pub(crate) sent: OwnCount,
    pools: Vec<Rc<Pool>>,
    timer: Timer,
}

/// Replays a share on a runtime of the calling thread, once it starts.
pub(crate) fn run(shared: Arc<Shared>, place: Place) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => tokio::task::LocalSet::new().block_on(&runtime, replay(shared, place)),
        Err(error) => {
            let _ = place.ready.send(Err(ReplayError::Runtime(error)));
        }
    }
}

async fn replay(shared: Arc<Shared>, mut place: Place) {
    let control = shared.control.for_runtime();
    let connections = place.share.connections_at_once(&shared.plan);
    let (timer, pools) = match prepare(&shared, &control, &connections).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = place.ready.send(Err(error));
            return;
        }
    };
    let _ = place.ready.send(Ok(()));
    let mut worker = Worker {
        control,
        shared,
        clock: Clock::starting_at(Instant::now()),
        pace: PaceReader::of_one_process(),
        recorder: Recorder::new(place.outcomes),
        sent: place.sent,
        pools,
        timer,
    };
    loop {
        // None comes when another runtime could not get ready, or the replay is given up.
        let Some(start) = place.starts.recv().await else {
            return;
        };
        worker.clock = Clock::starting_at(start.pace.t0());
        worker.pace = start.pace.reader();
        if worker.waited_for(&start, &connections).await {
            break;
        }
    }

    let worker = Rc::new(worker);
    let flushing = tokio::task::spawn_local(flush_now_and_then(worker.recorder.clone()));
    match place.share {
        Share::Open(firsts) => open_loop(&worker, &firsts).await,
        Share::Closed { sessions, list } => closed_loop(&worker, sessions, &list).await,
    }
    flushing.abort();
    worker.recorder.flush();
}

/// Opens the timer and the connections that the share will want at once.
async fn prepare(
    shared: &Shared,
    control: &Control,
    connections: &[usize],
) -> Result<(Timer, Vec<Rc<Pool>>), ReplayError> {
    let timer = Timer::start().map_err(ReplayError::Runtime)?;
    let pools: Vec<_> = shared
        .plan
        .targets
        .iter()
        .zip(&shared.addresses)
        .map(|(target, addresses)| Rc::new(Pool::new(target.clone(), addresses.clone(), shared.tls.clone())))
        .collect();
    tokio::select! {
        () = warm_up(&pools, connections) => {}
        () = control.stopped() => {}
    }
    Ok((timer, pools))
}

/// Opens connections before T0, so many for each target, so that the first requests do not wait for them. One that fails is not
/// missed: requests open their own, and their outcomes say what went wrong.
async fn warm_up(pools: &[Rc<Pool>], connections: &[usize]) {
    let opening = TaskTracker::new();
    for (pool, connections) in pools.iter().zip(connections) {
        for _ in pool.fresh()..*connections {
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
    let going = TaskTracker::new();
    for _ in 0..sessions {
        let (worker, list) = (worker.clone(), list.clone());
        going.spawn_local(async move {
            while let Some(first) = worker.next_of(&list) {
                session::replay(&worker, first, worker.run_now()).await;
            }
        });
    }
    going.close();
    going.wait().await;
    // Those that do not go are noted when nothing is measured any more.
    while let Some(first) = list.take() {
        session::replay(worker, first, worker.run_now()).await;
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

    /// The number that the request in place `index` of the schedule has in the whole plan.
    pub(crate) fn number(&self, index: u32) -> u32 {
        self.plan().numbers.of(index)
    }

    /// The moment of the run that it is.
    pub(crate) fn run_now(&self) -> i64 {
        self.pace.run_ns(self.clock.now())
    }

    /// The local time of a moment of the run; of one before T0, that of T0, as nothing goes earlier.
    pub(crate) fn local_ns(&self, run_ns: i64) -> i64 {
        self.pace.local_ns(run_ns.max(0))
    }

    /// Waits until a start's T0 has come, or the run is stopped. `false` when it was called off before.
    async fn waited_for(&self, start: &Start, connections: &[usize]) -> bool {
        let waiting = async {
            if self.clock.now() < -nanos(REOPENING_SPAN) {
                // Those opened long before T0 would be too old by then.
                self.wait_until(-nanos(REOPENING_SPAN)).await;
                tokio::select! {
                    () = warm_up(&self.pools, connections) => {}
                    () = self.wait_until(0) => {}
                }
            }
            self.wait_until(0).await;
        };
        tokio::select! {
            biased;
            () = start.decision.is_called_off() => false,
            () = waiting => start.decision.go(),
        }
    }

    /// When a later turn is due whose session is ready for it, in run time: at its recorded time, or after its delay, now at the
    /// earliest, and never before the turn before it, which may not have gone.
    pub(crate) fn due_of_turn(&self, request: Request, previous_due_ns: i64) -> i64 {
        let ready = self.run_now().max(previous_due_ns);
        let earliest = ready.saturating_add_unsigned(request.delay_ns);
        request.offset_ns.map_or(earliest, |offset| offset.max(earliest))
    }

    /// Whether a request that is due goes, as far as the run's end decides it.
    fn still_sends(&self, request: Request, due_ns: i64) -> bool {
        self.control().cause().is_none() && !self.gate().is_over_by(request.is_warmup, due_ns)
    }

    /// The next session of a closed loop, as long as any goes.
    fn next_of(&self, list: &SessionList) -> Option<u32> {
        let is_measured_over = self.gate().is_over_by(false, self.run_now());
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

    /// Waits until a moment of the run, or until the run is stopped.
    async fn wait_until(&self, run_ns: i64) {
        while self.control().cause().is_none() {
            let local_ns = self.pace.local_ns(run_ns);
            let left_ns = local_ns - self.clock.now();
            if left_ns <= 0 {
                return;
            }
            let alarm_ns = self.pace.look_again_ns(local_ns, left_ns);
            tokio::select! {
                () = self.timer.sleep_until(self.clock.instant(alarm_ns)) => {}
                () = self.control().stopped() => return,
            }
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
