//! How run time passes on this worker's clock.
//!
//! The schedule is in run time: nanoseconds since T0 as the whole run understands it. A worker's own clock may be off and may
//! drift; a [`Pace`] says at which local time a moment of the run is. As more is learned of the clock the pace is steered:
//! what is still to come moves little by little, so that no request is skipped, bunched or repeated. Stamps never change.

mod line;
#[cfg(test)]
mod simulation;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use reprise_contract::clock::ClockMap;
use tokio::sync::watch;

use crate::clock::Clock;
use line::Line;

/// Over how much local time the rate of the manager's clock is taken from what is known of it: 1 s.
const RATE_SPAN_NS: i64 = 1_000_000_000;

/// The last part of a wait is not looked at again: 50 ms, in which steering moves nothing by more than 0.1 ms.
const LAST_WAIT_NS: i64 = 50_000_000;

/// How run time passes on this worker's clock, from T0 on. Clones are of the same run.
#[derive(Clone, Debug)]
pub struct Pace {
    t0: Instant,
    steering: Option<Steering>,
}

#[derive(Clone, Debug)]
struct Steering {
    /// What the worker's clock, as samples of it are counted, showed at T0.
    t0_local_ns: i64,
    line: watch::Sender<Arc<Line>>,
}

impl Pace {
    /// Run time is local time: the run has no other clock.
    #[must_use]
    pub fn of_one_process(t0: Instant) -> Self {
        Self { t0, steering: None }
    }

    /// Run time is local time until it is steered. `t0` is the instant that this worker takes for T0, at which its clock (that of
    /// [`reprise_contract::protocol::ClockSample::local_ns`]) shows `t0_local_ns`.
    #[must_use]
    pub fn steered(t0: Instant, t0_local_ns: i64) -> Self {
        let line = watch::Sender::new(Arc::new(Line::identity()));
        Self {
            t0,
            steering: Some(Steering { t0_local_ns, line }),
        }
    }

    /// The instant that this worker takes for T0.
    #[must_use]
    pub fn t0(&self) -> Instant {
        self.t0
    }

    /// Follows what is known of the manager's clock now, on which T0 is at `t0_manager_ns`. Does nothing in a run that has no
    /// other clock.
    pub fn steer(&self, map: &ClockMap, t0_manager_ns: i64) {
        let now_ns = Clock::starting_at(self.t0).now();
        if let Some(steering) = &self.steering {
            steering.steer(now_ns, map, t0_manager_ns);
        }
    }

    pub(crate) fn reader(&self) -> PaceReader {
        let lines = self.steering.as_ref().map(|steering| {
            let mut lines = steering.line.subscribe();
            let line = lines.borrow_and_update().clone();
            RefCell::new(Followed { lines, line })
        });
        PaceReader { lines }
    }
}

impl Steering {
    fn steer(&self, now_ns: i64, map: &ClockMap, t0_manager_ns: i64) {
        let run_ns_at = |local_ns: i64| map.to_manager_ns(self.t0_local_ns + local_ns) - t0_manager_ns;
        let run_now_ns = run_ns_at(now_ns);
        let ahead =
            (run_ns_at(now_ns + RATE_SPAN_NS) - run_now_ns - RATE_SPAN_NS) as f64 / RATE_SPAN_NS as f64;
        self.line.send_modify(|line| {
            *line = Arc::new(line.steered(now_ns, run_now_ns, ahead));
        });
    }
}

/// One runtime's view of the pace: nothing that others write is touched but when it was steered.
#[derive(Debug)]
pub(crate) struct PaceReader {
    lines: Option<RefCell<Followed>>,
}

#[derive(Debug)]
struct Followed {
    lines: watch::Receiver<Arc<Line>>,
    line: Arc<Line>,
}

impl PaceReader {
    /// Run time is local time.
    pub(crate) fn of_one_process() -> Self {
        Self { lines: None }
    }

    /// When to look again whether a local time has come that is `left_ns` away. Where the pace may be steered meanwhile, half
    /// of it is waited for again and again, so that a long wait follows and the last one ends within 0.1 ms of where it should.
    pub(crate) fn look_again_ns(&self, local_ns: i64, left_ns: i64) -> i64 {
        if self.lines.is_some() && left_ns > LAST_WAIT_NS {
            local_ns - left_ns / 2
        } else {
            local_ns
        }
    }

    /// The local time of a moment of the run.
    pub(crate) fn local_ns(&self, run_ns: i64) -> i64 {
        self.by_line(run_ns, Line::local_ns)
    }

    /// The moment of the run at a local time.
    pub(crate) fn run_ns(&self, local_ns: i64) -> i64 {
        self.by_line(local_ns, Line::run_ns)
    }

    fn by_line(&self, ns: i64, map: impl Fn(&Line, i64) -> i64) -> i64 {
        let Some(followed) = &self.lines else { return ns };
        let mut followed = followed.borrow_mut();
        // An error says that nobody steers any more: what was known last holds.
        if followed.lines.has_changed().unwrap_or(false) {
            let newest = followed.lines.borrow_and_update().clone();
            followed.line = newest;
        }
        map(&followed.line, ns)
    }
}
