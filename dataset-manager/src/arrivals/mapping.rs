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
    let error_ns = mapped - due;
    let map = |time: Option<i64>| time.map(|time| to_run(time) - error_ns);
    let sent = local.sent.map(|sent| due + (sent - due_local));
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
