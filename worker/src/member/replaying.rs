//! From T0 until the manager has everything.

use std::io;
use std::sync::mpsc::Receiver;
use std::thread;

use reprise_contract::protocol::{Directive, Release};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::delivery::{Collector, Room, Sealer, Spool, Watermark, deliver};
use super::early::Early;
use super::events::{Event, tell};
use super::exit::{Delivered, Failure};
use super::life::Life;
use super::stopping::cause;
use crate::{Batch, Running, StopCause};

/// A replay that has passed T0.
pub(super) struct Replaying {
    pub(super) running: Running,
    pub(super) outcomes: Receiver<Batch>,
    pub(super) watermark: Watermark,
    /// What this worker's clock showed at T0.
    pub(super) t0_local_ns: i64,
}

/// Replays, and delivers every outcome. Ends when the manager releases this worker, or, after a signal, when everything is
/// delivered.
///
/// # Errors
/// What ends it otherwise.
pub(super) async fn replay(
    life: &Life<'_>,
    replaying: Replaying,
    mut early: Early,
) -> Result<Release, Failure> {
    let spool = Spool::new(life.scratch.part("outcomes")?, Room::default());
    let mut work = std::pin::pin!(work(life, replaying, spool.clone()));
    let mut is_done = false;
    let mut ends_at: Option<Instant> = None;
    let end = loop {
        let release = obey(life, &mut early);
        if ends_at.is_some() && (is_done || release.is_some()) {
            break Err(terminated(&spool));
        }
        if let Some(release) = release {
            break Ok(release);
        }
        tokio::select! {
            biased;
            failure = early.failures.heard() => break Err(failure),
            changed = early.directives.changed() => {
                if changed.is_err() {
                    break Err(Failure::Fault("nobody follows the manager's directives".to_owned()));
                }
            }
            () = early.signals.heard(), if ends_at.is_none() => {
                tell(&Event::Terminating { grace: life.settings.grace });
                life.stopping.told_to_stop(StopCause::Leaving);
                ends_at = Some(Instant::now() + life.settings.grace);
            }
            () = until(ends_at) => break Err(terminated(&spool)),
            worked = &mut work, if !is_done => match worked {
                Ok(()) => is_done = true,
                Err(failure) => break Err(failure),
            },
        }
    };
    // Whatever ended it: nothing more is sent.
    life.stopping.told_to_stop(StopCause::Cancelled);
    end
}

/// Does what the newest directive says; gives a release back.
fn obey(life: &Life<'_>, early: &mut Early) -> Option<Release> {
    let directive: Option<Directive> = early.directives.borrow_and_update().clone();
    let directive = directive?;
    if let Some(stop) = &directive.stop {
        life.stopping.told_to_stop(cause(stop));
    }
    directive.release
}

/// What a signal came to, whose outcomes were delivered or not.
fn terminated(spool: &Spool) -> Failure {
    let delivered = match spool.outcomes() {
        0 => Delivered::All,
        waiting => Delivered::AllBut(waiting),
    };
    Failure::Terminated { delivered }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// The work itself: the replay in its threads, the collector in its own, and the delivery beside them. Ends when the manager has
/// everything.
async fn work(life: &Life<'_>, replaying: Replaying, spool: Spool) -> Result<(), Failure> {
    let incarnation = life.client.incarnation().clone();
    let collector = Collector {
        batches: replaying.outcomes,
        sealer: Sealer::new(incarnation, replaying.t0_local_ns, replaying.watermark),
        spool: spool.clone(),
        clock: life.clock.clone(),
        sent: replaying.running.sent(),
        stopping: life.stopping.clone(),
    };
    let running = replaying.running;
    let replayed = in_thread("replay-end", move || running.join())?;
    let collected = in_thread("outcomes", move || collector.run())?;
    let measured = async {
        let replayed = replayed.await;
        let collected = collected.await;
        Ok((replayed, collected))
    };
    let delivered = deliver(spool, life.client.clone(), life.orders.clone());
    // A delivery that fails ends it at once; a replay that does only after what it measured was delivered.
    let ((replayed, collected), ()) = tokio::try_join!(measured, delivered)?;
    collected.map_err(|_| panicked("outcomes"))??;
    replayed.map_err(|_| panicked("replay-end"))??;
    Ok(())
}

/// Runs something that blocks in a thread of its own.
fn in_thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (done, result) = oneshot::channel();
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Nobody waits for it when the worker has ended.
        let _ = done.send(run());
    })?;
    Ok(result)
}

fn panicked(thread: &str) -> Failure {
    Failure::Fault(format!("the thread {thread} panicked"))
}
