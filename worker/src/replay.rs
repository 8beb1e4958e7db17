//! Runs a plan: shares it out, gets the runtimes ready, starts them together, and waits for their end.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use reprise_content::schedule::{Mode, Schedule};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::control::{Control, StopCause};
use crate::gate::Gate;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::recorder::Batch;
use crate::sent::{OwnCount, SentCount};
use crate::start::{Decision, Start};
use crate::thread::{Place, SessionList, Share, Shared, run};

/// From the moment that every runtime is ready to T0.
const LEAD: Duration = Duration::from_millis(20);

/// A replay that is over.
#[derive(Debug)]
pub struct Replayed {
    /// T0 on the wall clock.
    pub t0: SystemTime,
    /// Runtimes that sent.
    pub threads: NonZeroUsize,
    /// Why it was stopped, if it was.
    pub stopped: Option<StopCause>,
}

/// A replay that could not begin, or did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The operating system gave no thread, poll or timer.
    #[error(
        "Cannot start a sending thread: {0}. Raise the limits on threads and open files, or use fewer threads."
    )]
    Runtime(#[source] io::Error),
    /// TLS cannot be set up.
    #[error("Cannot use TLS: {0}. Check the certificate store of this machine.")]
    Tls(#[source] rustls::Error),
    /// A sending thread panicked.
    #[error("A sending thread panicked, so outcomes are missing. This is a fault in Reprise.")]
    Panicked,
}

/// Replays `plan` in this process, sending its outcomes to `outcomes` in batches, every planned request exactly once. Blocks
/// until the end, and while `outcomes` is full: whoever receives them must keep up.
///
/// # Errors
/// When it cannot begin. What goes wrong with requests is in their outcomes.
pub fn replay(plan: Plan, control: &Control, outcomes: &SyncSender<Batch>) -> Result<Replayed, ReplayError> {
    let standby = prepare(plan, control, outcomes)?;
    standby.start(&Pace::of_one_process(Instant::now() + LEAD)).join()
}

/// Gets everything ready to replay `plan`: a thread and a runtime for each share, connections to the targets. Sends no request.
/// Blocks while it does; a stop by `control` shortens it.
///
/// # Errors
/// When the system does not give what it takes.
pub fn prepare(plan: Plan, control: &Control, outcomes: &SyncSender<Batch>) -> Result<Standby, ReplayError> {
    let split = share_out(&plan.schedule, plan.threads);
    let shared = Arc::new(Shared {
        gate: Gate::new(&plan, control.clone()),
        control: control.clone(),
        addresses: plan.targets.iter().map(crate::target::Target::resolve).collect(),
        tls: tls_config(&plan)?,
        plan,
    });
    let (ready, readiness) = mpsc::channel();
    let mut runtimes = Vec::new();
    for (index, share) in split.into_iter().enumerate() {
        let (starts, of_runtime) = unbounded_channel();
        let sent = OwnCount::default();
        let place = Place {
            share,
            ready: ready.clone(),
            starts: of_runtime,
            outcomes: outcomes.clone(),
            sent: sent.clone(),
        };
        let shared = shared.clone();
        let thread = thread::Builder::new()
            .name(format!("replay-{index}"))
            .spawn(move || run(shared, place))
            .map_err(ReplayError::Runtime)?;
        runtimes.push(Runtime { thread, starts, sent });
    }
    drop(ready);
    readiness.iter().take(runtimes.len()).collect::<Result<(), _>>()?;
    Ok(Standby {
        runtimes,
        control: control.clone(),
    })
}

/// A replay that waits for its start. Dropped, it ends without having sent anything.
#[derive(Debug)]
pub struct Standby {
    runtimes: Vec<Runtime>,
    control: Control,
}

#[derive(Debug)]
struct Runtime {
    thread: thread::JoinHandle<()>,
    starts: UnboundedSender<Start>,
    sent: OwnCount,
}

impl Standby {
    /// Starts at the pace's T0. Connections that are missing then are opened shortly before. Until T0 it can be called off.
    #[must_use]
    pub fn start(self, pace: &Pace) -> Running {
        let decision = Decision::default();
        for runtime in &self.runtimes {
            // A runtime that is gone has panicked, which joining it tells.
            let _ = runtime.starts.send(Start {
                pace: pace.clone(),
                decision: decision.clone(),
            });
        }
        Running {
            t0: on_the_wall(pace.t0()),
            decision,
            standby: self,
        }
    }
}

/// A replay that was told to start. It goes on when this is dropped, until its control stops it.
#[derive(Debug)]
pub struct Running {
    t0: SystemTime,
    decision: Decision,
    standby: Standby,
}

impl Running {
    /// How many requests were sent so far; to be asked again and again.
    #[must_use]
    pub fn sent(&self) -> SentCount {
        SentCount::of(self.standby.runtimes.iter().map(|runtime| runtime.sent.clone()))
    }

    /// Calls the start off: nothing was sent then, and nothing is, until it is started again.
    ///
    /// # Errors
    /// The running replay, when T0 has come already or the run was stopped: outcomes may be on their way.
    pub fn call_off(self) -> Result<Standby, Self> {
        if self.decision.call_off() {
            Ok(self.standby)
        } else {
            Err(self)
        }
    }

    /// Waits for the end: when every planned request has its outcome.
    ///
    /// # Errors
    /// When a sending thread panicked.
    pub fn join(self) -> Result<Replayed, ReplayError> {
        let Standby { runtimes, control } = self.standby;
        let threads = NonZeroUsize::new(runtimes.len()).unwrap_or(NonZeroUsize::MIN);
        for runtime in runtimes {
            runtime.thread.join().map_err(|_| ReplayError::Panicked)?;
        }
        Ok(Replayed {
            t0: self.t0,
            threads,
            stopped: control.cause().cloned(),
        })
    }
}

/// An instant on the wall clock.
fn on_the_wall(instant: Instant) -> SystemTime {
    let (now, wall) = (Instant::now(), SystemTime::now());
    match instant.checked_duration_since(now) {
        Some(ahead) => wall + ahead,
        None => wall - (now - instant),
    }
}

/// Gives every runtime its sessions. A session stays whole; sessions take turns, so that a burst is spread over all.
fn share_out(schedule: &Schedule, threads: NonZeroUsize) -> Vec<Share> {
    let firsts: Vec<u32> = (0..)
        .zip(&schedule.requests)
        .filter(|(_, request)| request.place == 0)
        .map(|(index, _)| index)
        .collect();
    let threads = threads.get().min(firsts.len()).max(1);
    if let Mode::Concurrency(sessions) = schedule.mode {
        let sessions = (sessions.get() as usize).min(firsts.len()).max(1);
        let threads = threads.min(sessions);
        let list = Arc::new(SessionList::new(firsts));
        return (0..threads)
            .map(|index| Share::Closed {
                sessions: sessions / threads + usize::from(index < sessions % threads),
                list: list.clone(),
            })
            .collect();
    }
    (0..threads)
        .map(|index| Share::Open(firsts.iter().copied().skip(index).step_by(threads).collect()))
        .collect()
}

/// TLS, where a target wants it: rustls, trusting whom this machine trusts.
fn tls_config(plan: &Plan) -> Result<Option<Arc<ClientConfig>>, ReplayError> {
    if plan.targets.iter().all(|target| target.tls_name.is_none()) {
        return Ok(None);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(ReplayError::Tls)?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use reprise_content::schedule::{LeftOut, Request};

    use super::*;

    fn schedule(mode: Mode, places: &[u32]) -> Schedule {
        let request = |place: &u32| Request {
            turn: 0,
            offset_ns: Some(0),
            delay_ns: 0,
            next: None,
            place: *place,
            is_warmup: false,
        };
        Schedule {
            mode,
            requests: places.iter().map(request).collect(),
            left_out: LeftOut::default(),
        }
    }

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn sessions_take_turns_over_the_threads() {
        let shares = share_out(&schedule(Mode::Recorded, &[0, 0, 1, 0, 0]), threads(2));
        let firsts: Vec<_> = shares
            .iter()
            .map(|share| match share {
                Share::Open(firsts) => firsts.clone(),
                Share::Closed { .. } => panic!("the schedule is open loop"),
            })
            .collect();
        assert_eq!(firsts, [vec![0, 3], vec![1, 4]]);
    }

    #[test]
    fn concurrency_is_spread_and_never_exceeded() {
        let mode = Mode::Concurrency(NonZeroU32::new(5).unwrap());
        let sessions = |places: &[u32], count| {
            share_out(&schedule(mode, places), threads(count))
                .iter()
                .map(|share| match share {
                    Share::Closed { sessions, .. } => *sessions,
                    Share::Open(_) => panic!("the schedule is closed loop"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(sessions(&[0; 9], 2), [3, 2]);
        assert_eq!(sessions(&[0, 0, 0], 2), [2, 1], "no more than there are");
    }
}
