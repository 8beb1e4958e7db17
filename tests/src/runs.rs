//! Replays a plan and holds its outcomes to what is true of every run.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use reprise_content::schedule::Schedule;
use reprise_contract::{Ending, FailureCause, Histogram, NotSentReason, Outcome};
use reprise_worker::{Batch, Control, Plan, ReplayError, Replayed, replay as replay_plan};

/// A replay that has not ended after this long never will.
const PATIENCE: Duration = Duration::from_mins(2);

/// A replay that is over, its outcomes in the order of the plan.
#[derive(Debug)]
pub struct Run {
    /// One for each planned request.
    pub outcomes: Vec<Outcome>,
    /// The gaps between chunks of all measured and completed answers.
    pub gaps: Histogram,
    /// What the replay says of itself.
    pub replayed: Replayed,
}

impl Run {
    /// How each request ended.
    #[must_use]
    pub fn endings(&self) -> Vec<Ending> {
        self.outcomes.iter().map(|outcome| outcome.ending).collect()
    }

    /// How many ended so.
    #[must_use]
    pub fn count(&self, ending: Ending) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.ending == ending)
            .count()
    }

    /// The only outcome.
    #[must_use]
    pub fn only(&self) -> &Outcome {
        assert_eq!(self.outcomes.len(), 1);
        &self.outcomes[0]
    }

    /// The only outcome, which is to be a failure: its cause and its message.
    #[must_use]
    pub fn only_failure(&self) -> (FailureCause, &str) {
        match self.only() {
            Outcome {
                ending: Ending::Failed(cause),
                error: Some(error),
                ..
            } => (*cause, error),
            outcome => panic!("no failure: {outcome:?}"),
        }
    }

    /// Fails unless every request completed.
    pub fn assert_all_completed(&self) {
        for outcome in &self.outcomes {
            assert_eq!(outcome.ending, Ending::Completed, "{outcome:?}");
        }
    }
}

/// Batches that wait until the end, when they are read: more than any test has.
const BATCHES: usize = 10_000;

/// A replay under way.
pub struct Running {
    /// Stops it.
    pub control: Control,
    schedule: Schedule,
    outcomes: mpsc::Receiver<Batch>,
    ended: mpsc::Receiver<Result<Replayed, ReplayError>>,
}

impl Running {
    /// Starts it on a thread of its own.
    #[must_use]
    pub fn start(plan: Plan) -> Self {
        let control = Control::default();
        let schedule = plan.schedule.clone();
        let (send_outcomes, outcomes) = mpsc::sync_channel(BATCHES);
        let (end, ended) = mpsc::channel();
        let of_thread = control.clone();
        thread::spawn(move || end.send(replay_plan(plan, &of_thread, &send_outcomes)));
        Self {
            control,
            schedule,
            outcomes,
            ended,
        }
    }

    /// Waits for its end and checks what holds for every run.
    #[must_use]
    pub fn finish(self) -> Run {
        let replayed = self
            .ended
            .recv_timeout(PATIENCE)
            .expect("the replay does not end")
            .unwrap();
        let (mut outcomes, mut gaps) = (Vec::new(), Histogram::default());
        for batch in &self.outcomes {
            outcomes.extend(batch.outcomes);
            gaps.merge(&batch.gaps);
        }
        outcomes.sort_by_key(|outcome| outcome.request);
        assert_every_request_has_one_outcome(&self.schedule, &outcomes);
        outcomes.iter().for_each(assert_times_are_in_order);
        outcomes.iter().for_each(assert_ending_fits_what_was_seen);
        Run {
            outcomes,
            gaps,
            replayed,
        }
    }
}

/// Replays a plan to its end.
#[must_use]
pub fn replay(plan: Plan) -> Run {
    Running::start(plan).finish()
}

fn assert_every_request_has_one_outcome(schedule: &Schedule, outcomes: &[Outcome]) {
    let planned: Vec<u32> = (0..).take(schedule.requests.len()).collect();
    let requests: Vec<_> = outcomes.iter().map(|outcome| outcome.request).collect();
    assert_eq!(requests, planned);
    for (outcome, request) in outcomes.iter().zip(&schedule.requests) {
        assert_eq!(
            (outcome.turn, outcome.times.recorded),
            (request.place, request.offset_ns)
        );
    }
}

fn assert_times_are_in_order(outcome: &Outcome) {
    let times = &outcome.times;
    let course = [
        times.due,
        times.sent,
        times.headers,
        times.first_chunk,
        times.first_output,
        times.last_output,
        times.done,
    ];
    assert!(course.into_iter().flatten().is_sorted(), "{outcome:?}");
    assert!(times.due.is_some_and(|due| due >= 0), "{outcome:?}");
    assert!(
        times.recorded.is_none_or(|recorded| times.due >= Some(recorded)),
        "{outcome:?}"
    );
    assert!(
        times
            .first_content
            .is_none_or(|content| times.first_output <= Some(content))
    );
    assert!(times.usage.is_none_or(|usage| times.first_chunk <= Some(usage)));
}

fn assert_ending_fits_what_was_seen(outcome: &Outcome) {
    let times = &outcome.times;
    match outcome.ending {
        Ending::Completed => {
            assert!(times.first_chunk.is_some() && times.done.is_some(), "{outcome:?}");
            assert!(outcome.was_sent() && outcome.error.is_none(), "{outcome:?}");
            assert!(matches!(outcome.status, Some(200..300)), "{outcome:?}");
        }
        Ending::Failed(cause) => {
            assert!(times.done.is_some(), "{outcome:?}");
            assert!(
                outcome.error.as_ref().is_some_and(|error| !error.is_empty()),
                "{outcome:?}"
            );
            let had_no_connection = matches!(
                cause,
                FailureCause::Dns
                    | FailureCause::ConnectionRefused
                    | FailureCause::ConnectionFailed
                    | FailureCause::Tls
            );
            assert!(!(had_no_connection && outcome.was_sent()), "{outcome:?}");
        }
        Ending::Cancelled => assert!(times.done.is_some(), "{outcome:?}"),
        Ending::Dropped
        | Ending::NotSent(
            NotSentReason::DurationOver
            | NotSentReason::RunCancelled
            | NotSentReason::RunAborted
            | NotSentReason::DeadlinePassed
            | NotSentReason::WorkerLost
            | NotSentReason::AnswerMissing,
        ) => {
            assert!(!outcome.was_sent() && times.done.is_none(), "{outcome:?}");
            assert_eq!((outcome.request_bytes, outcome.answer_bytes), (0, 0));
        }
    }
}
