//! How much of a schedule comes at once.

use std::time::Duration;

use crate::schedule::{Mode, Schedule};

/// What [`Peaks::busiest_moment`] looks at.
pub const MOMENT: Duration = Duration::from_millis(50);

const SECOND: Duration = Duration::from_secs(1);

/// How much of a schedule, or of a part of it, comes at once, if no answer takes any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Requests in all.
    pub requests: u32,
    /// The most requests that are due within any second. 0 in a closed loop, which asks for no rate.
    pub busiest_second: u32,
    /// The most requests that are due within any [`MOMENT`], which is how many connections are needed at least. In a closed
    /// loop the sessions at once.
    pub busiest_moment: u32,
    /// From the first request that is due to the last.
    pub span: Duration,
}

impl Peaks {
    /// Those of a whole schedule.
    #[must_use]
    pub fn of(schedule: &Schedule) -> Self {
        let numbers: Vec<u32> = (0..).take(schedule.requests.len()).collect();
        Self::of_part(schedule, &due_ns(schedule), &numbers)
    }

    /// Those of some requests of a schedule. `due_ns` is of the whole one.
    pub(super) fn of_part(schedule: &Schedule, due_ns: &[i64], numbers: &[u32]) -> Self {
        let requests = count(numbers.len());
        if let Mode::Concurrency(sessions) = schedule.mode {
            return Self {
                requests,
                busiest_moment: sessions.get().min(requests),
                ..Self::default()
            };
        }
        let mut due: Vec<i64> = numbers.iter().map(|number| due_ns[*number as usize]).collect();
        due.sort_unstable();
        let span_ns = match (due.first(), due.last()) {
            (Some(first), Some(last)) => last.abs_diff(*first),
            _ => 0,
        };
        Self {
            requests,
            busiest_second: busiest(&due, SECOND),
            busiest_moment: busiest(&due, MOMENT),
            span: Duration::from_nanos(span_ns),
        }
    }
}

/// When each request of a schedule is due at the earliest, in nanoseconds since T0: as if no answer took any time.
pub(super) fn due_ns(schedule: &Schedule) -> Vec<i64> {
    let mut due_ns = vec![i64::MIN; schedule.requests.len()];
    for (index, request) in schedule.requests.iter().enumerate() {
        // What the turn before has left here: when that is due.
        let after_turn = match due_ns[index] {
            i64::MIN => 0,
            previous => previous.saturating_add_unsigned(request.delay_ns),
        };
        let due = request
            .offset_ns
            .map_or(after_turn, |offset| offset.max(due_ns[index]));
        due_ns[index] = due;
        if let Some(next) = request.next {
            due_ns[next as usize] = due;
        }
    }
    due_ns
}

/// The most of these ascending instants within any stretch of this length, whose end is not part of it.
fn busiest(due_ns: &[i64], length: Duration) -> u32 {
    let length_ns = length.as_nanos();
    let mut first = 0;
    let mut most = 0;
    for (last, due) in due_ns.iter().enumerate() {
        while u128::from(due.abs_diff(due_ns[first])) >= length_ns {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    count(most)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a schedule has at most 2^32 - 1 requests"
)]
fn count(requests: usize) -> u32 {
    requests as u32
}
