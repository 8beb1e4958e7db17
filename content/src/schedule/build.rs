//! Makes a schedule of a content and a load.

use std::time::Duration;

use super::arrivals::to_nanos;
use super::{Arrivals, Extent, LeftOut, Load, Mode, Request, Schedule, ScheduleError, Speed, Window};
use crate::store::Content;

/// Makes the schedule: selects sessions, orders their turns, gives each its offset, and cuts to the extent.
///
/// # Errors
/// When the content has no times and the load needs them, or nothing would be measured.
pub fn build(content: &Content, load: Load, extent: Extent) -> Result<Schedule, ScheduleError> {
    let (mut planned, mode, outside_window) = match load {
        Load::Recorded { speed, window } => {
            let (planned, outside) = recorded(content, speed, window)?;
            (planned, Mode::Recorded, outside)
        }
        Load::Rate(arrivals) => (at_rate(content, arrivals)?, Mode::Rate, 0),
        Load::Concurrency(sessions) => (in_order(content), Mode::Concurrency(sessions), 0),
    };
    let beyond_requests = cut(&mut planned, extent)?;
    let requests = link(content, &planned, extent.warmup);
    Ok(Schedule {
        mode,
        requests,
        left_out: LeftOut {
            outside_window,
            beyond_requests,
        },
    })
}

/// A turn with its times, before it is linked to the next of its session.
#[derive(Clone, Copy)]
struct Planned {
    turn: u32,
    offset_ns: Option<i64>,
    delay_ns: u64,
}

/// The selected turns by recorded time, and how many were left out.
fn recorded(content: &Content, speed: Speed, window: Window) -> Result<(Vec<Planned>, u32), ScheduleError> {
    let starts = session_starts(content)?;
    let Some(zero) = starts.iter().copied().min() else {
        return Ok((Vec::new(), 0));
    };
    let selected = |session: u32| window.contains(starts[session as usize].abs_diff(zero));
    let rebase = (0..)
        .zip(&starts)
        .filter(|(session, _)| selected(*session))
        .map(|(_, start)| *start)
        .min();
    let Some(rebase) = rebase else {
        let last = starts
            .iter()
            .map(|start| start.abs_diff(zero))
            .max()
            .unwrap_or_default();
        return Err(ScheduleError::EmptyWindow {
            last: Duration::from_nanos(last),
        });
    };

    // When a session's latest turn would be due at the earliest: a later turn is never ordered before it.
    let mut reached = vec![i64::MIN; starts.len()];
    let mut keyed = Vec::new();
    for (row, turn) in (0..).zip(content.turns()) {
        if !selected(turn.session()) {
            continue;
        }
        let reached = &mut reached[turn.session() as usize];
        let offset_ns = turn
            .recorded_ns()
            .map(|recorded| speed.shrink(recorded.saturating_sub(rebase)))
            .transpose()?;
        let delay_ns = if offset_ns.is_some() {
            0
        } else {
            speed.shrink_delay(turn.delay_ns().unwrap_or_default())?
        };
        *reached = offset_ns.map_or_else(
            || reached.saturating_add_unsigned(delay_ns),
            |offset| offset.max(*reached),
        );
        keyed.push((
            *reached,
            Planned {
                turn: row,
                offset_ns,
                delay_ns,
            },
        ));
    }
    keyed.sort_by_key(|(reached, _)| *reached);
    let left_out = content.len() - count(keyed.len());
    Ok((keyed.into_iter().map(|(_, planned)| planned).collect(), left_out))
}

/// The recorded time of each session's first turn.
fn session_starts(content: &Content) -> Result<Vec<i64>, ScheduleError> {
    let mut starts: Vec<i64> = Vec::with_capacity(content.head().sessions as usize);
    for turn in content.turns() {
        if turn.session() as usize == starts.len() {
            starts.push(
                turn.recorded_ns()
                    .ok_or(ScheduleError::Untimed { line: turn.line() })?,
            );
        }
    }
    Ok(starts)
}

fn at_rate(content: &Content, arrivals: Arrivals) -> Result<Vec<Planned>, ScheduleError> {
    let mut planned = in_order(content);
    let mut offsets = arrivals.offsets_ns();
    for turn in &mut planned {
        turn.offset_ns = Some(offsets.next().ok_or(ScheduleError::TooLong)?);
    }
    Ok(planned)
}

/// All turns in the order of the trace: by recorded time where there is one, else as they stand.
fn in_order(content: &Content) -> Vec<Planned> {
    let mut reached = vec![i64::MIN; content.head().sessions as usize];
    let mut keyed: Vec<_> = (0..)
        .zip(content.turns())
        .map(|(row, turn)| {
            let reached = &mut reached[turn.session() as usize];
            *reached = turn.recorded_ns().unwrap_or(*reached).max(*reached);
            (
                *reached,
                Planned {
                    turn: row,
                    offset_ns: None,
                    delay_ns: turn.delay_ns().unwrap_or_default(),
                },
            )
        })
        .collect();
    let is_timed = keyed.iter().all(|(reached, _)| *reached > i64::MIN);
    if is_timed {
        keyed.sort_by_key(|(reached, _)| *reached);
    }
    keyed.into_iter().map(|(_, planned)| planned).collect()
}

/// Cuts what is beyond the extent; says how many.
fn cut(planned: &mut Vec<Planned>, extent: Extent) -> Result<u32, ScheduleError> {
    let before = count(planned.len());
    if let Some(requests) = extent.requests {
        planned.truncate((extent.warmup as usize).saturating_add(requests.get() as usize));
    }
    let requests = count(planned.len());
    if extent.warmup > 0 && requests <= extent.warmup {
        return Err(ScheduleError::OnlyWarmup {
            warmup: extent.warmup,
            requests,
        });
    }
    Ok(before - requests)
}

fn link(content: &Content, planned: &[Planned], warmup: u32) -> Vec<Request> {
    let mut latest: Vec<Option<u32>> = vec![None; content.head().sessions as usize];
    let mut requests: Vec<Request> = Vec::with_capacity(planned.len());
    for (index, planned) in (0..).zip(planned) {
        let latest = &mut latest[content.turn(planned.turn).session() as usize];
        let place = latest.map_or(0, |previous| {
            let previous = &mut requests[previous as usize];
            previous.next = Some(index);
            previous.place + 1
        });
        *latest = Some(index);
        requests.push(Request {
            turn: planned.turn,
            offset_ns: planned.offset_ns,
            delay_ns: planned.delay_ns,
            next: None,
            place,
            is_warmup: index < warmup,
        });
    }
    requests
}

impl Window {
    fn contains(self, since_start_ns: u64) -> bool {
        let since_start = Duration::from_nanos(since_start_ns);
        since_start >= self.start && self.end.is_none_or(|end| since_start < end)
    }
}

impl Speed {
    fn shrink(self, offset_ns: i64) -> Result<i64, ScheduleError> {
        if self.0.to_bits() == 1f64.to_bits() {
            return Ok(offset_ns);
        }
        to_nanos(offset_ns as f64 / self.0).ok_or(ScheduleError::TooLong)
    }

    fn shrink_delay(self, delay_ns: u64) -> Result<u64, ScheduleError> {
        let delay = i64::try_from(delay_ns).map_err(|_| ScheduleError::TooLong)?;
        Ok(self.shrink(delay)?.unsigned_abs())
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a content has at most 2^32 - 1 turns"
)]
fn count(turns: usize) -> u32 {
    turns as u32
}
