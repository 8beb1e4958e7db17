//! Shows how a replay goes.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use reprise_contract::protocol::LiveNumbers;
use reprise_contract::{Ending, Outcome};

/// Between two lines where there is no terminal.
const LINE_PERIOD: Duration = Duration::from_secs(5);

/// Shows how a replay goes: a bar on a terminal, a line now and then elsewhere.
pub(crate) struct Replaying {
    counts: RefCell<Counts>,
    planned: u64,
    display: Display,
}

enum Display {
    Bar(ProgressBar),
    Lines(RefCell<Instant>),
}

#[derive(Default)]
struct Counts {
    ended: u64,
    failed: u64,
    greatest_lag_ms: f64,
}

impl Replaying {
    /// Begins to show a replay of `planned` requests, the last of which is due `last_offset_ns` after T0.
    pub(crate) fn show(planned: u64, last_offset_ns: Option<i64>) -> Self {
        let display = if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(planned);
            let template = "Replaying {wide_bar} {pos}/{len} {elapsed} {msg}";
            // The template is a constant; one that does not parse leaves the default style.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            Display::Bar(bar)
        } else {
            let span = last_offset_ns.map(|ns| Duration::from_nanos(ns.max(0).unsigned_abs()));
            let over = span
                .map(|span| format!(" over {:.1} s", span.as_secs_f64()))
                .unwrap_or_default();
            eprintln!("Replaying {planned} requests{over}");
            Display::Lines(RefCell::new(Instant::now()))
        };
        Self {
            counts: RefCell::default(),
            planned,
            display,
        }
    }

    pub(crate) fn count(&self, outcomes: &[Outcome]) {
        let mut counts = self.counts.borrow_mut();
        for outcome in outcomes {
            counts.ended += 1;
            counts.failed += u64::from(matches!(outcome.ending, Ending::Failed(_)));
            let lag_ms = outcome.lag_ns().unwrap_or_default() as f64 / 1e6;
            counts.greatest_lag_ms = counts.greatest_lag_ms.max(lag_ms);
        }
    }

    /// Takes the numbers of others in place of its own.
    pub(crate) fn set(&self, numbers: &LiveNumbers) {
        *self.counts.borrow_mut() = Counts {
            ended: numbers.received,
            failed: numbers.failed,
            greatest_lag_ms: numbers.lag_max_ms,
        };
    }

    pub(crate) fn tick(&self) {
        let counts = self.counts.borrow();
        match &self.display {
            Display::Bar(bar) => {
                bar.set_position(counts.ended);
                bar.set_message(counts.to_string());
            }
            Display::Lines(last) => {
                if last.borrow().elapsed() >= LINE_PERIOD {
                    *last.borrow_mut() = Instant::now();
                    eprintln!("{} of {} requests ended, {counts}", counts.ended, self.planned);
                }
            }
        }
    }

    pub(crate) fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            failed,
            greatest_lag_ms,
            ..
        } = self;
        write!(formatter, "{failed} failed, at most {greatest_lag_ms:.1} ms late")
    }
}
