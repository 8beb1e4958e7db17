//! A timer that is exact to tens of microseconds.
//!
//! tokio's own timer ticks in milliseconds, which would make every request up to one late. Here all sleepers of a runtime
//! share one alarm of the operating system, set to the earliest of them.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod alarm;
#[cfg(not(target_os = "linux"))]
#[path = "portable.rs"]
mod alarm;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use alarm::Alarm;

/// The timer of one runtime. Clones share it.
#[derive(Clone)]
pub(crate) struct Timer {
    shared: Rc<Shared>,
}

struct Shared {
    alarm: Alarm,
    sleepers: RefCell<Sleepers>,
}

#[derive(Default)]
struct Sleepers {
    /// By instant, then by the order in which they went to sleep, so that equal instants wake in that order.
    wakers: BTreeMap<(Instant, u64), Waker>,
    count: u64,
}

impl Timer {
    /// A timer for the current runtime, inside whose `LocalSet` this is called: it starts the task that wakes sleepers.
    ///
    /// # Errors
    /// When the operating system has no alarm left.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Rc::new(Shared {
            alarm: Alarm::new()?,
            sleepers: RefCell::default(),
        });
        tokio::task::spawn_local(wake_sleepers(shared.clone()));
        Ok(Self { shared })
    }

    /// Ends at `deadline`, at once when that has passed.
    pub(crate) fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep {
            shared: self.shared.clone(),
            deadline,
            key: None,
        }
    }
}

async fn wake_sleepers(shared: Rc<Shared>) {
    loop {
        shared.alarm.rang().await;
        let due = shared.sleepers.borrow_mut().take_due(Instant::now());
        due.into_values().for_each(Waker::wake);
        if let Some(next) = shared.sleepers.borrow().earliest() {
            shared.alarm.set(next);
        }
    }
}

impl Sleepers {
    fn new_key(&mut self, deadline: Instant) -> (Instant, u64) {
        self.count += 1;
        (deadline, self.count)
    }

    fn earliest(&self) -> Option<Instant> {
        self.wakers.first_key_value().map(|((instant, _), _)| *instant)
    }

    fn take_due(&mut self, now: Instant) -> BTreeMap<(Instant, u64), Waker> {
        let later = self.wakers.split_off(&(now, u64::MAX));
        std::mem::replace(&mut self.wakers, later)
    }
}

/// Ends at its deadline.
pub(crate) struct Sleep {
    shared: Rc<Shared>,
    deadline: Instant,
    key: Option<(Instant, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        let shared = self.shared.clone();
        let mut sleepers = shared.sleepers.borrow_mut();
        let key = self.key.unwrap_or_else(|| sleepers.new_key(self.deadline));
        self.key = Some(key);
        sleepers.wakers.insert(key, context.waker().clone());
        if sleepers.earliest() == Some(key.0) {
            shared.alarm.set(key.0);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.shared.sleepers.borrow_mut().wakers.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test)
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_deadlines_and_never_early() {
        run(async {
            let timer = Timer::start().unwrap();
            let start = Instant::now();
            let woken = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = [30, 10, 20, 10, 0]
                .into_iter()
                .map(|ms| {
                    let (timer, woken) = (timer.clone(), woken.clone());
                    tokio::task::spawn_local(async move {
                        let deadline = start + Duration::from_millis(ms);
                        timer.sleep_until(deadline).await;
                        assert!(Instant::now() >= deadline);
                        woken.borrow_mut().push(ms);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*woken.borrow(), [0, 10, 10, 20, 30]);
        });
    }

    #[test]
    fn a_sleeper_that_gives_up_leaves_nothing_behind() {
        run(async {
            let timer = Timer::start().unwrap();
            let long = timer.sleep_until(Instant::now() + Duration::from_hours(1));
            tokio::select! {
                () = long => panic!("it was to sleep for an hour"),
                () = timer.sleep_until(Instant::now() + Duration::from_millis(5)) => {}
            }
            assert!(timer.shared.sleepers.borrow().wakers.is_empty());
        });
    }
}
