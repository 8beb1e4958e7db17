//! From a worker's time to run time.
//!
//! A worker stamps on its own clock, and its clock is known only as well as round trips tell. So that the error of that never
//! enters what the worker itself measured, only one instant of a request is mapped, when it was due; what was recorded is
//! the schedule's own, and the lag and the wait for an earlier turn stay what the worker saw. Later instants are mapped too,
//! shifted by what the mapping of the first was off: so durations are free of drift, and start where the request was due.

use reprise_contract::Outcome;
use reprise_contract::outcome::Times;

/// Maps the outcome's times to run time. `to_run` maps an instant of the worker, in nanoseconds since its T0, to nanoseconds
/// since the run's. Gives the clock's error, in nanoseconds: how far the mapped instant at which the request was due is from
/// where it belongs.
pub(super) fn to_run_time(outcome: &mut Outcome, offset_ns: Option<i64>, to_run: impl Fn(i64) -> i64) -> i64 {
    let local = outcome.times;
    let Some(due_local) = local.due else { return 0 };
    let mapped = to_run(due_local);
    let due = match (offset_ns, local.recorded) {
        (Some(offset_ns), Some(recorded)) => offset_ns + (due_local - recorded),
        _ => mapped,
    };
    let error_ns = mapped.saturating_sub(due);
    let map = |time: Option<i64>| time.map(|time| to_run(time).saturating_sub(error_ns));
    let sent = local.sent.map(|sent| due.saturating_add(sent - due_local));
    outcome.times = Times {
        recorded: offset_ns,
        due: Some(due),
        sent,
        headers: map(local.headers),
        first_chunk: map(local.first_chunk),
        first_output: map(local.first_output),
        first_content: map(local.first_content),
        last_output: map(local.last_output),
        usage: map(local.usage),
        done: map(local.done),
    };
    error_ns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reprise_contract::{Ending, Gaps, Phase};

    use super::*;

    fn outcome(times: Times) -> Outcome {
        Outcome {
            request: 0,
            session: 0,
            turn: 0,
            request_id: None,
            phase: Phase::Measured,
            ending: Ending::Completed,
            times,
            connect_ns: None,
            gaps: Gaps::default(),
            output_chunks: 0,
            input_tokens: None,
            cached_tokens: None,
            output_tokens: None,
            requested_output_tokens: None,
            status: None,
            error: None,
            request_bytes: 0,
            answer_bytes: 0,
            target: 0,
            worker: 0,
            clock_error_ns: None,
        }
    }

    fn mapped(times: Times, offset_ns: Option<i64>, to_run: impl Fn(i64) -> i64) -> (Times, i64) {
        let mut outcome = outcome(times);
        let error_ns = to_run_time(&mut outcome, offset_ns, to_run);
        (outcome.times, error_ns)
    }

    #[test]
    fn the_clocks_error_stays_beside_what_was_measured() {
        // The map is 70 off, and the worker's clock runs twice as fast as time.
        let to_run = |time: i64| time / 2 + 70;
        let local = Times {
            recorded: Some(2_000),
            due: Some(2_010),
            sent: Some(2_013),
            headers: Some(2_210),
            first_chunk: None,
            done: Some(2_410),
            ..Times::default()
        };
        let (times, error_ns) = mapped(local, Some(1_000), to_run);
        let expected = Times {
            recorded: Some(1_000),
            due: Some(1_010),
            sent: Some(1_013),
            headers: Some(1_110),
            first_chunk: None,
            done: Some(1_210),
            ..Times::default()
        };
        assert_eq!((times, error_ns), (expected, 65));
    }

    #[test]
    fn without_a_recorded_time_the_map_says_when_it_was_due() {
        let local = Times {
            due: Some(10),
            sent: Some(12),
            done: Some(30),
            ..Times::default()
        };
        let (times, error_ns) = mapped(local, None, |time| time + 100);
        let expected = Times {
            due: Some(110),
            sent: Some(112),
            done: Some(130),
            ..Times::default()
        };
        assert_eq!((times, error_ns), (expected, 0));
    }

    proptest! {
        #[test]
        fn lag_and_wait_are_what_the_worker_saw(
            offset in 0..1_i64 << 50, recorded in 0..1_i64 << 50, wait in 0..1_i64 << 40, lag in 0..1_i64 << 40,
            took in 0..1_i64 << 40, shift in -(1_i64 << 50)..1_i64 << 50, ppm in -1_000..1_000_i64
        ) {
            let to_run = |time: i64| time + shift + time / 1_000_000 * ppm;
            let due = recorded + wait;
            let local = Times {
                recorded: Some(recorded),
                due: Some(due),
                sent: Some(due + lag),
                done: Some(due + took),
                ..Times::default()
            };
            let (times, error_ns) = mapped(local, Some(offset), to_run);
            prop_assert_eq!(times.recorded, Some(offset));
            prop_assert_eq!(times.due, Some(offset + wait));
            prop_assert_eq!(times.sent, Some(offset + wait + lag));
            prop_assert_eq!(offset + wait + error_ns, to_run(due), "the best guess of the true instant");
            prop_assert_eq!(times.done, Some(offset + wait + to_run(due + took) - to_run(due)), "free of drift");
        }
    }
}
