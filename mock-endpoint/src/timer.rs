//! Sleeping until an instant of the monotonic clock, to within microseconds and without spinning.
//!
//! tokio's own timer counts whole milliseconds. Here one Linux `timerfd` is armed for the earliest sleeper, and a
//! single task wakes whoever is due when it fires.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock::monotonic_ns;

/// A source of precise sleeps. Clones share one timer.
#[derive(Debug, Clone)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    alarm: AsyncFd<OwnedFd>,
    sleepers: Mutex<Sleepers>,
}

/// Who sleeps, ordered by due time, and what the alarm is set to.
#[derive(Debug, Default)]
struct Sleepers {
    waiting: BTreeMap<Ticket, Waker>,
    next_number: u64,
    armed_for_ns: Option<u64>,
}

/// A sleeper's place: due time first, so that the map's order is the order of waking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ticket {
    due_ns: u64,
    number: u64,
}

impl Timer {
    /// Creates a timer on the current tokio runtime. It fires only while [`Timer::drive`] runs.
    pub(crate) fn new() -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        #[allow(
            deprecated,
            reason = "deprecated for types that may not keep their descriptor, which OwnedFd does; the successor is unsafe"
        )]
        let alarm = AsyncFd::with_interest(fd, Interest::READABLE)?;
        Ok(Self {
            shared: Arc::new(Shared {
                alarm,
                sleepers: Mutex::default(),
            }),
        })
    }

    /// Wakes sleepers as they fall due, for as long as it is polled.
    pub(crate) async fn drive(&self) -> io::Result<Infallible> {
        loop {
            let mut ready = self.shared.alarm.readable().await?;
            match rustix::io::read(self.shared.alarm.get_ref(), &mut [0u8; 8]) {
                // The count of expirations does not matter: whoever is due is found by the clock.
                Ok(_) | Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
            self.shared.wake_due()?;
        }
    }

    /// Sleeps until the monotonic clock shows `due_ns`; ready at once when it already does.
    pub(crate) fn sleep_until(&self, due_ns: u64) -> Sleep {
        Sleep {
            shared: Arc::clone(&self.shared),
            due_ns,
            ticket: None,
        }
    }
}

impl Shared {
    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_due(&self) -> io::Result<()> {
        let due = {
            let mut sleepers = self.sleepers();
            sleepers.armed_for_ns = None;
            let first_later = Ticket {
                due_ns: monotonic_ns().saturating_add(1),
                number: 0,
            };
            let later = sleepers.waiting.split_off(&first_later);
            let due = std::mem::replace(&mut sleepers.waiting, later);
            if let Some(next) = sleepers.waiting.keys().next().copied() {
                self.arm(&mut sleepers, next.due_ns)?;
            }
            due
        };
        due.into_values().for_each(Waker::wake);
        Ok(())
    }

    fn arm(&self, sleepers: &mut Sleepers, due_ns: u64) -> io::Result<()> {
        let at = Timespec {
            tv_sec: i64::try_from(due_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::from(u32::try_from(due_ns % 1_000_000_000).unwrap_or_default()),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: at,
        };
        timerfd_settime(self.alarm.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        sleepers.armed_for_ns = Some(due_ns);
        Ok(())
    }
}

/// A sleep that has not ended yet. Dropping it gives up the place.
#[derive(Debug)]
pub(crate) struct Sleep {
    shared: Arc<Shared>,
    due_ns: u64,
    ticket: Option<Ticket>,
}

impl Future for Sleep {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            shared,
            due_ns,
            ticket,
        } = &mut *self;
        let due_ns = *due_ns;
        if monotonic_ns() >= due_ns {
            return Poll::Ready(Ok(()));
        }
        let mut sleepers = shared.sleepers();
        let ticket = *ticket.get_or_insert_with(|| {
            sleepers.next_number += 1;
            Ticket {
                due_ns,
                number: sleepers.next_number,
            }
        });
        sleepers.waiting.insert(ticket, context.waker().clone());
        if sleepers.armed_for_ns.is_none_or(|armed_for| due_ns < armed_for) {
            shared.arm(&mut sleepers, due_ns)?;
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.sleepers().waiting.remove(&ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap()
            .block_on(work)
    }

    #[test]
    fn wakes_in_due_order_and_never_early() {
        block_on(async {
            let timer = Timer::new().unwrap();
            let driver = timer.clone();
            tokio::spawn(async move { driver.drive().await });
            let start_ns = monotonic_ns();
            let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
            for offset_ns in [3_000_000, 1_000_000, 2_000_000] {
                let (timer, sender) = (timer.clone(), sender.clone());
                tokio::spawn(async move {
                    timer.sleep_until(start_ns + offset_ns).await.unwrap();
                    sender.send((offset_ns, monotonic_ns())).unwrap();
                });
            }
            for expected_ns in [1_000_000, 2_000_000, 3_000_000] {
                let (offset_ns, woke_ns) = receiver.recv().await.unwrap();
                assert_eq!(offset_ns, expected_ns);
                assert!(woke_ns >= start_ns + offset_ns);
            }
        });
    }

    #[test]
    fn a_dropped_sleep_leaves_no_trace() {
        block_on(async {
            let timer = Timer::new().unwrap();
            let mut sleep = Box::pin(timer.sleep_until(monotonic_ns() + 1_000_000_000));
            let first_poll = std::future::poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context))).await;
            assert!(first_poll.is_pending());
            assert_eq!(timer.shared.sleepers().waiting.len(), 1);
            drop(sleep);
            assert!(timer.shared.sleepers().waiting.is_empty());
        });
    }
}
