//! An alarm of Linux: a timer file descriptor in the runtime's own poll.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// An alarm for one instant.
pub(super) struct Alarm {
    descriptor: AsyncFd<OwnedFd>,
}

impl Alarm {
    #[allow(unsafe_code, reason = "tokio has no safe form of this any more")]
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the descriptor must stay open and the same while it is registered. An `OwnedFd` gives the one descriptor that
        // it owns, closes it only when dropped, and is moved into the `AsyncFd`, which never lends it mutably here.
        let descriptor = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?;
        Ok(Self { descriptor })
    }

    /// Sets the alarm, in place of an earlier setting.
    pub(super) fn set(&self, instant: Instant) {
        // Zero would switch the alarm off.
        let left = instant
            .saturating_duration_since(Instant::now())
            .max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        // It fails only for a bad descriptor or a bad time, and neither can be here.
        let _ = timerfd_settime(self.descriptor.get_ref(), TimerfdTimerFlags::empty(), &once);
    }

    /// Ends when the alarm has rung.
    pub(super) async fn rang(&self) {
        let read = |descriptor: &OwnedFd| {
            let mut expirations = [0; 8];
            Ok(rustix::io::read(descriptor, &mut expirations)?)
        };
        // A failed read would be a bad descriptor; waking too often is then the safe side.
        let _ = self.descriptor.async_io(Interest::READABLE, read).await;
    }
}
