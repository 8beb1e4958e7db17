//! From when to when.

use reprise_contract::{Outcome, Phase};

/// The first and the last instants of a run, in nanoseconds since T0.
#[derive(Debug, Default)]
pub(super) struct Span {
    last_end: Option<i64>,
    measured_first_sent: Option<i64>,
    measured_last_sent: Option<i64>,
    measured_last_end: Option<i64>,
}

impl Span {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.last_end = self.last_end.max(outcome.times.done.or(outcome.times.sent));
        if outcome.phase == Phase::Measured
            && let Some(sent) = outcome.times.sent
        {
            self.measured_first_sent = Some(self.measured_first_sent.map_or(sent, |first| first.min(sent)));
            self.measured_last_sent = self.measured_last_sent.max(Some(sent));
            self.measured_last_end = self.measured_last_end.max(outcome.times.done.or(Some(sent)));
        }
    }

    /// From T0 to the end of the last request; 0 when none went.
    pub(super) fn elapsed_ns(&self) -> i64 {
        self.last_end.unwrap_or(0).max(0)
    }

    /// When the first measured request was sent.
    pub(super) fn measured_from_ns(&self) -> Option<i64> {
        self.measured_first_sent
    }

    /// From the first measured request's sending to the last one's end. `None` when none was sent, or no time passed.
    pub(super) fn measured_ns(&self) -> Option<i64> {
        Some(self.measured_last_end? - self.measured_first_sent?).filter(|&span| span > 0)
    }

    /// From the first to the last sending of a measured request.
    pub(super) fn sending_ns(&self) -> Option<i64> {
        Some(self.measured_last_sent? - self.measured_first_sent?)
    }
}
