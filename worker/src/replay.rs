//! Runs a plan: shares it out, starts the runtimes together, and waits for their end.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use reprise_content::schedule::{Mode, Schedule};
use reprise_contract::{Histogram, Outcome};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::oneshot;

use crate::control::{Control, StopCause};
use crate::gate::Gate;
use crate::plan::Plan;
use crate::thread::{SessionList, Share, Shared, Start, run};

/// From the moment that every runtime is ready to T0.
const LEAD: Duration = Duration::from_millis(20);

/// A replay that is over.
#[derive(Debug)]
pub struct Replayed {
    /// T0 on the wall clock.
    pub t0: SystemTime,
    /// Runtimes that sent.
    pub threads: NonZeroUsize,
    /// The gaps between chunks of all measured and completed answers.
    pub gaps: Histogram,
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

/// Replays `plan`, sending its outcomes to `outcomes` in batches, every planned request exactly once. Blocks until the end, and
/// while `outcomes` is full: whoever receives them must keep up.
///
/// # Errors
/// When it cannot begin. What goes wrong with requests is in their outcomes.
pub fn replay(
    plan: Plan,
    control: &Control,
    outcomes: &mpsc::SyncSender<Vec<Outcome>>,
) -> Result<Replayed, ReplayError> {
    let split = share_out(&plan.schedule, plan.threads);
    let threads = NonZeroUsize::new(split.len()).unwrap_or(NonZeroUsize::MIN);
    let shared = Arc::new(Shared {
        gate: Gate::new(&plan, control.clone()),
        control: control.clone(),
        addresses: plan.targets.iter().map(crate::target::Target::resolve).collect(),
        tls: tls_config(&plan)?,
        plan,
    });
    let (ready, readiness) = mpsc::channel();
    let mut starts = Vec::new();
    let mut handles = Vec::new();
    for (index, share) in split.into_iter().enumerate() {
        let (send_t0, t0) = oneshot::channel();
        starts.push(send_t0);
        let (shared, outcomes, ready) = (shared.clone(), outcomes.clone(), ready.clone());
        let handle = thread::Builder::new()
            .name(format!("replay-{index}"))
            .spawn(move || run(shared, share, Start { ready, t0 }, outcomes))
            .map_err(ReplayError::Runtime)?;
        handles.push(handle);
    }
    drop(ready);
    readiness.iter().take(handles.len()).collect::<Result<(), _>>()?;
    let (t0, t0_wall) = (Instant::now() + LEAD, SystemTime::now() + LEAD);
    for start in starts {
        // A runtime that is gone has panicked, which joining it tells.
        let _ = start.send(t0);
    }
    let mut gaps = Histogram::default();
    for handle in handles {
        gaps.merge(&handle.join().map_err(|_| ReplayError::Panicked)?);
    }
    Ok(Replayed {
        t0: t0_wall,
        threads,
        gaps,
        stopped: control.cause().cloned(),
    })
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
