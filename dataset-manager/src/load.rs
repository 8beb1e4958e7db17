//! Which load the spec asks for.

use std::num::NonZeroU32;

use reprise_content::schedule::{self, Arrivals, Extent, Load, Process, Speed};
use reprise_crds::{Replay, Schedule};

use crate::prepare::Times;

/// A load that spec and trace do not agree on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Recorded times and a rate, and nobody says which.
    #[error(
        "Cannot choose a schedule: the trace has recorded times and the spec has {field}. Set replay.schedule to \
         Recorded and remove {field}, or set it to {schedule}."
    )]
    Ambiguous {
        /// The field beside the recorded times.
        field: &'static str,
        /// The schedule that the field belongs to.
        schedule: &'static str,
    },
    /// Recorded times are to be changed, and there are none.
    #[error("Cannot use {field}: it acts on recorded times, and the trace has none. Remove it.")]
    NoRecordedTimes {
        /// The field.
        field: &'static str,
    },
    /// A schedule without its numbers.
    #[error("Cannot use replay.schedule: {schedule} needs {field}. Set it.")]
    Missing {
        /// The schedule.
        schedule: &'static str,
        /// The field that it needs.
        field: &'static str,
    },
    /// A closed loop cannot be shared.
    #[error(
        "Cannot use {workers} workers: the schedule is Concurrency ({sessions} sessions at once), which one worker runs alone: its \
         sessions cannot be handed out to several yet. Use one worker, or set replay.schedule to Recorded or Rate."
    )]
    ClosedLoop {
        /// Workers that were asked for.
        workers: NonZeroU32,
        /// Sessions at once.
        sessions: NonZeroU32,
    },
}

/// Whether spec and trace agree on a load, as far as the first record shows: known before the trace is downloaded.
///
/// # Errors
/// When they do not.
pub fn check(replay: &Replay, times: Times, workers: NonZeroU32) -> Result<(), LoadError> {
    load(replay, times == Times::Recorded, workers).map(|_| ())
}

/// The load that `replay` asks of so many workers, of a trace with or without recorded times.
///
/// # Errors
/// When the two do not go together.
pub fn load(replay: &Replay, is_timed: bool, workers: NonZeroU32) -> Result<Load, LoadError> {
    match of_one_worker(replay, is_timed)? {
        Load::Concurrency(sessions) if workers > NonZeroU32::MIN => {
            Err(LoadError::ClosedLoop { workers, sessions })
        }
        load => Ok(load),
    }
}

fn of_one_worker(replay: &Replay, is_timed: bool) -> Result<Load, LoadError> {
    match replay.schedule {
        Schedule::Recorded => Ok(recorded(replay)),
        Schedule::Rate => rate(replay).ok_or(LoadError::Missing {
            schedule: "Rate",
            field: "replay.rate",
        }),
        Schedule::Concurrency => {
            let missing = LoadError::Missing {
                schedule: "Concurrency",
                field: "replay.concurrency",
            };
            replay.concurrency.map(Load::Concurrency).ok_or(missing)
        }
        // Validation has refused Users.
        Schedule::Auto | Schedule::Users => automatic(replay, is_timed),
    }
}

/// Recorded times where the trace has them, else what the spec gives, else one request at a time.
fn automatic(replay: &Replay, is_timed: bool) -> Result<Load, LoadError> {
    if is_timed {
        if replay.rate.is_some() {
            return Err(LoadError::Ambiguous {
                field: "replay.rate",
                schedule: "Rate",
            });
        }
        if replay.concurrency.is_some() {
            return Err(LoadError::Ambiguous {
                field: "replay.concurrency",
                schedule: "Concurrency",
            });
        }
        return Ok(recorded(replay));
    }
    if replay.window.is_some() {
        return Err(LoadError::NoRecordedTimes {
            field: "replay.window",
        });
    }
    if replay.speed.get().to_bits() != 1f64.to_bits() {
        return Err(LoadError::NoRecordedTimes {
            field: "replay.speed",
        });
    }
    Ok(rate(replay).unwrap_or(Load::Concurrency(replay.concurrency.unwrap_or(NonZeroU32::MIN))))
}

fn recorded(replay: &Replay) -> Load {
    let window = replay
        .window
        .map_or_else(schedule::Window::default, |window| schedule::Window {
            start: window.start.get(),
            end: window.end.map(reprise_crds::TimeSpan::get),
        });
    Load::Recorded {
        speed: Speed::new(replay.speed.get()).unwrap_or(Speed::RECORDED),
        window,
    }
}

fn rate(replay: &Replay) -> Option<Load> {
    let rate = replay.rate?;
    let process = match rate.arrivals {
        reprise_crds::Arrivals::Constant => Process::Constant,
        reprise_crds::Arrivals::Poisson => Process::Poisson { seed: replay.seed },
    };
    Arrivals::new(rate.per_second.get(), process).map(Load::Rate)
}

/// How many requests the spec asks for. Numbers beyond what a trace can hold ask for all there are.
#[must_use]
pub fn extent(replay: &Replay) -> Extent {
    Extent {
        warmup: u32::try_from(replay.warmup.requests).unwrap_or(u32::MAX),
        requests: replay
            .requests
            .map(|requests| NonZeroU32::try_from(requests).unwrap_or(NonZeroU32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use reprise_crds::document::{Document, Overrides};

    use super::*;

    fn replay(settings: &[&str]) -> Replay {
        let base = ["dataset.source=t.jsonl", "target.urls=[http://host]"];
        let overrides = Overrides::parse(base.iter().chain(settings)).unwrap();
        Document::blank(&overrides).unwrap().spec().replay.clone()
    }

    /// The load of a run by one worker.
    fn load(replay: &Replay, is_timed: bool) -> Result<Load, LoadError> {
        super::load(replay, is_timed, NonZeroU32::MIN)
    }

    #[test]
    fn a_closed_loop_is_for_one_worker() {
        let two = NonZeroU32::new(2).unwrap();
        let error = super::load(&replay(&["replay.concurrency=8"]), false, two).unwrap_err();
        assert!(matches!(error, LoadError::ClosedLoop { .. }), "{error}");
        assert!(super::load(&replay(&[RATE]), false, two).is_ok());
        assert!(super::load(&replay(&[]), true, two).is_ok());
    }

    const RATE: &str = "replay.rate={perSecond: 5}";

    #[test]
    fn auto_takes_recorded_times_where_the_trace_has_them() {
        assert!(matches!(load(&replay(&[]), true), Ok(Load::Recorded { .. })));
    }

    #[test]
    fn auto_takes_what_is_given_where_the_trace_has_no_times_else_one_at_a_time() {
        let concurrency = NonZeroU32::new(8).unwrap();
        assert_eq!(load(&replay(&[]), false), Ok(Load::Concurrency(NonZeroU32::MIN)));
        assert_eq!(
            load(&replay(&["replay.concurrency=8"]), false),
            Ok(Load::Concurrency(concurrency))
        );
        assert!(matches!(load(&replay(&[RATE]), false), Ok(Load::Rate(_))));
    }

    #[test]
    fn auto_with_recorded_times_and_a_rate_names_both() {
        for settings in [RATE, "replay.concurrency=8"] {
            let error = load(&replay(&[settings]), true).unwrap_err().to_string();
            assert!(
                error.contains("recorded times") && error.contains("replay."),
                "{error}"
            );
        }
    }

    #[test]
    fn what_acts_on_recorded_times_needs_them() {
        for settings in ["replay.speed=2", "replay.window={start: 1s}"] {
            assert!(matches!(
                load(&replay(&[settings]), false),
                Err(LoadError::NoRecordedTimes { .. })
            ));
        }
    }
}
