//! A piecewise-linear, continuous, ascending map between local time and run time.

/// The gap to the target is closed over this time: 2 s. What is known of the clock is smooth already; while its
/// drift is still being learned, the run follows so much later.
const CLOSING_NS: f64 = 2e9;
/// The most that run time is hurried or held back to close a gap: 2 ms a second.
const MAX_SLEW: f64 = 2e-3;
/// Segments that are kept, so that what was due some time ago keeps its local time: a minute of them at four a second.
const KEPT: usize = 256;

/// A piecewise-linear, continuous, ascending map between local time and run time. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    segments: Vec<Segment>,
}

/// From a point on, run time passes `1 + ahead` times as fast as local time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    local_ns: i64,
    run_ns: i64,
    ahead: f64,
}

impl Line {
    /// Run time is local time.
    pub(super) fn identity() -> Self {
        Self {
            segments: vec![Segment::through(0, 0, 0.0)],
        }
    }

    /// The same line until `now_ns`, local time. From there on it draws nearer to the target: the line through `run_ns` now, on
    /// which run time passes `1 + ahead` times as fast as local time. Before T0 it is the target at once, as nothing is due yet
    /// that could be skipped or bunched.
    pub(super) fn steered(&self, now_ns: i64, run_ns: i64, ahead: f64) -> Self {
        if now_ns < 0 {
            return Self {
                segments: vec![Segment::through(now_ns, run_ns, ahead)],
            };
        }
        let reached_ns = self.run_ns(now_ns);
        let gap_ns = (run_ns - reached_ns) as f64;
        let slew = (gap_ns / CLOSING_NS).clamp(-MAX_SLEW, MAX_SLEW);
        let closing = Segment::through(now_ns, reached_ns, ahead + slew);
        let past = self.segments.iter().filter(|segment| segment.local_ns < now_ns);
        let mut segments: Vec<_> = past.copied().chain([closing]).collect();
        if gap_ns != 0.0 {
            let closed_ns = now_ns.saturating_add(rounded(gap_ns / slew));
            segments.push(Segment::through(closed_ns, closing.run_ns(closed_ns), ahead));
        }
        segments.drain(..segments.len().saturating_sub(KEPT));
        Self { segments }
    }

    /// The moment of the run at a local time.
    pub(super) fn run_ns(&self, local_ns: i64) -> i64 {
        self.last_where(|segment| segment.local_ns <= local_ns)
            .run_ns(local_ns)
    }

    /// The local time of a moment of the run.
    pub(super) fn local_ns(&self, run_ns: i64) -> i64 {
        self.last_where(|segment| segment.run_ns <= run_ns)
            .local_ns(run_ns)
    }

    /// The last segment that begins early enough, else the first. It is nearly always one of the last two.
    fn last_where(&self, begins: impl Fn(&Segment) -> bool) -> Segment {
        let found = self.segments.iter().rev().find(|segment| begins(segment));
        found.or(self.segments.first()).copied().unwrap_or_default()
    }
}

impl Segment {
    const fn through(local_ns: i64, run_ns: i64, ahead: f64) -> Self {
        Self {
            local_ns,
            run_ns,
            ahead,
        }
    }

    fn run_ns(&self, local_ns: i64) -> i64 {
        let since = local_ns.saturating_sub(self.local_ns);
        self.run_ns
            .saturating_add(since)
            .saturating_add(rounded(since as f64 * self.ahead))
    }

    fn local_ns(&self, run_ns: i64) -> i64 {
        let since = run_ns.saturating_sub(self.run_ns);
        self.local_ns
            .saturating_add(since)
            .saturating_sub(rounded(since as f64 * (self.ahead / (1.0 + self.ahead))))
    }
}

impl Default for Segment {
    fn default() -> Self {
        Self::through(0, 0, 0.0)
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a float too large for i64 becomes the largest, which is as far as time goes"
)]
pub(super) fn rounded(ns: f64) -> i64 {
    ns.round() as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: i64 = 1_000_000_000;
    const MS: i64 = 1_000_000;

    #[test]
    fn the_identity_changes_nothing() {
        let line = Line::identity();
        for ns in [-5 * S, 0, 1, 3_600_000 * S] {
            assert_eq!((line.run_ns(ns), line.local_ns(ns)), (ns, ns));
        }
    }

    #[test]
    fn a_gap_is_closed_over_two_seconds_and_then_the_target_is_followed() {
        // Run time is 4 ms further than the worker thought, and its clock runs 100 ppm slow.
        let line = Line::identity().steered(S, S + 4 * MS, 1e-4);
        assert_eq!(line.run_ns(S), S, "never stepped");
        let target = |local: i64| local + 4 * MS + (local - S) / 10_000;
        assert_eq!(line.run_ns(2 * S), target(2 * S) - 2 * MS);
        assert_eq!(line.run_ns(3 * S), target(3 * S));
        assert_eq!(line.run_ns(100 * S), target(100 * S));
    }

    #[test]
    fn a_wide_gap_is_closed_at_two_milliseconds_a_second() {
        let line = Line::identity().steered(S, 2 * S, 0.0);
        assert_eq!(line.run_ns(101 * S), 101 * S + 200 * MS);
        assert_eq!(line.run_ns(2_000 * S), 2_001 * S);
    }

    #[test]
    fn before_t0_the_target_holds_at_once() {
        let line = Line::identity().steered(-3 * S, -3 * S - 4 * MS, 0.0);
        assert_eq!(line.local_ns(0), 4 * MS);
        assert_eq!(line.run_ns(0), -4 * MS);
    }

    #[test]
    fn what_was_due_keeps_its_local_time() {
        let mut line = Line::identity();
        for second in 1..=60 {
            let next = line.steered(second * S, second * S + 5 * MS, 3e-4);
            for run_ns in [0, S / 2, line.run_ns(second * S)] {
                assert_eq!(next.local_ns(run_ns), line.local_ns(run_ns));
            }
            line = next;
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut line = Line::identity();
        for second in 0..10_000 {
            line = line.steered(second * S, second * S + second % 7 * MS, 0.0);
        }
        assert!(line.segments.len() <= KEPT);
    }

    proptest! {
        /// Whatever the targets are, run time goes on and on, and both directions agree.
        #[test]
        fn lines_ascend_and_can_be_inverted(
            steps in prop::collection::vec((1..20 * S, -10 * S..10 * S, -1e-3..1e-3), 1..30),
            asked in prop::collection::vec(-10 * S..1_000 * S, 2..40),
        ) {
            let mut line = Line::identity();
            let mut now = -20 * S;
            for (pause, gap, ahead) in steps {
                now += pause;
                line = line.steered(now, now + gap, ahead);
            }
            let mut asked = asked;
            asked.sort_unstable();
            let run: Vec<_> = asked.iter().map(|local| line.run_ns(*local)).collect();
            prop_assert!(run.is_sorted());
            for (local, run) in asked.iter().zip(&run) {
                prop_assert!((line.local_ns(*run) - local).abs() <= 2, "{local} {run}");
            }
        }
    }
}
