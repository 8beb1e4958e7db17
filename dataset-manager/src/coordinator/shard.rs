//! What the coordinator has to know of a shard.

use std::time::Duration;

use reprise_content::schedule::Schedule;

use super::ns;

/// What the coordinator has to know of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardFacts {
    /// Its requests.
    pub requests: u32,
    /// When the last of its answers is in at the latest, in nanoseconds since T0, if every request takes as long as it may.
    pub end_ns: i64,
}

impl ShardFacts {
    /// Those of the shard with these requests, as indexes into the schedule in ascending order.
    #[must_use]
    pub fn of(schedule: &Schedule, requests: &[u32], timeout: Duration) -> Self {
        // When the turn before ends at the latest, by the request that follows it.
        let mut waits = std::collections::HashMap::<u32, i64>::new();
        let mut end_ns = 0;
        for &number in requests {
            let Some(request) = usize::try_from(number)
                .ok()
                .and_then(|at| schedule.requests.get(at))
            else {
                continue;
            };
            let delay_ns = i64::try_from(request.delay_ns).unwrap_or(i64::MAX);
            let after_turn = waits
                .remove(&number)
                .map(|end_ns| end_ns.saturating_add(delay_ns));
            let due_ns = after_turn.max(request.offset_ns).unwrap_or_default();
            let done_ns = due_ns.saturating_add(ns(timeout));
            end_ns = end_ns.max(done_ns);
            if let Some(next) = request.next {
                waits.insert(next, done_ns);
            }
        }
        Self {
            requests: u32::try_from(requests.len()).unwrap_or(u32::MAX),
            end_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use reprise_content::schedule::{LeftOut, Request};
    use reprise_contract::plan::Mode;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn request(offset_ns: Option<i64>, delay_ns: u64, next: Option<u32>) -> Request {
        Request {
            turn: 0,
            offset_ns,
            delay_ns,
            next,
            place: 0,
            is_warmup: false,
        }
    }

    fn facts(requests: Vec<Request>, numbers: &[u32]) -> ShardFacts {
        let schedule = Schedule {
            mode: Mode::Recorded,
            requests,
            left_out: LeftOut::default(),
        };
        ShardFacts::of(&schedule, numbers, Duration::from_secs(10))
    }

    #[test]
    fn turns_may_each_take_as_long_as_a_request_may() {
        let requests = vec![
            request(Some(SECOND), 0, Some(2)),
            request(Some(50 * SECOND), 0, None),
            request(Some(3 * SECOND), 2 * SECOND.unsigned_abs(), Some(3)),
            request(None, SECOND.unsigned_abs(), None),
        ];
        assert_eq!(
            facts(requests.clone(), &[0, 2, 3]),
            ShardFacts {
                requests: 3,
                end_ns: (1 + 10 + 2 + 10 + 1 + 10) * SECOND
            }
        );
        assert_eq!(facts(requests, &[1]).end_ns, 60 * SECOND);
    }

    #[test]
    fn an_empty_shard_is_over_at_once() {
        assert_eq!(
            facts(vec![], &[]),
            ShardFacts {
                requests: 0,
                end_ns: 0
            }
        );
    }
}
