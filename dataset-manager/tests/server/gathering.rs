//! A run from the first call to the last.

use std::time::Duration;

use reprise_contract::protocol::batch::encode;
use reprise_contract::protocol::{Joined, Received, RefusalCode, Release, Stage, Stop};
use reprise_contract::{Ending, NotSentReason, Outcome};
use reprise_dataset_manager::coordinator::Failure;
use reprise_dataset_manager::server::{GatherError, Gathered};
use reprise_report::OutcomeReader;
use serde_json::json;

use crate::manager::{Manager, REQUESTS, Worker, good, outcome, refused};

fn rows(gathered: &Gathered) -> Vec<Outcome> {
    let reader = OutcomeReader::open(&gathered.outcomes).unwrap();
    let mut rows: Vec<_> = reader.flat_map(Result::unwrap).collect();
    rows.sort_by_key(|row| row.request);
    rows
}

/// Asks what to do, as a worker does all the time.
async fn next_directive(worker: &Worker<'_>, seen: u64) -> reprise_contract::protocol::Directive {
    loop {
        let directive = worker.control(seen).await;
        if directive.number != seen {
            return directive;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_and_everything_they_measured() {
    let manager = Manager::start().await;
    let early = manager.worker(0, "a");
    let joining = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        manager.serve_plan();
    };
    let (joined, ()) = tokio::join!(early.join(), joining);
    assert!(
        matches!(joined, Joined::Welcome { shard: 0, .. }),
        "the call waited for the plan"
    );

    let shard = early
        .call(manager.get("/v1/shards/0?incarnation=a"))
        .send()
        .await
        .unwrap();
    assert_eq!(shard.text().await.unwrap(), "0".repeat(200_000));

    let [one, two] = manager.replaying().await;
    assert_eq!(manager.server.status().stage, Stage::Replaying);
    let first = one.control(0).await;
    one.deliver_all().await;
    let received = two.deliver_all().await;
    assert_eq!(received.next, 1);

    let gathered = manager.server.gather().await.unwrap();
    let directive = next_directive(&one, first.number).await;
    assert_eq!(directive.release, Some(Release::RunOver));
    two.control(0).await;
    manager.server.farewell(Duration::from_secs(5)).await;

    assert_eq!(gathered.stop, None);
    let rows = rows(&gathered);
    assert_eq!(
        rows.iter().map(|row| row.request).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    for row in &rows {
        let expected = outcome(row.request).times;
        assert_eq!(
            (row.times.due, row.times.sent),
            (expected.due, expected.sent),
            "lag is local"
        );
    }
    assert!(
        gathered
            .workers
            .iter()
            .all(|worker| worker.lost.is_none() && worker.clock.is_some())
    );
    manager.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_worker_left_is_accounted_for() {
    let manager = Manager::with_plan().await;
    let [one, two] = manager.replaying().await;
    two.deliver_all().await;
    let mut head = one.head(0).await;
    head.sent = 2;
    let body = encode(&head, &one.outcomes(1)).unwrap();
    let received: Received = good(one.outcomes_call(body.clone())).await;
    assert_eq!(received.next, 1);
    // The answer was lost, and the batch comes again.
    let again: Received = good(one.outcomes_call(body)).await;
    assert_eq!(again.next, 1);

    // Its process dies while it asks what to do: the connection breaks.
    let directive = one.control(0).await;
    let waiting = one.control_call(directive.number).send();
    assert!(
        tokio::time::timeout(Duration::from_millis(200), waiting)
            .await
            .is_err()
    );
    let replacement = manager.worker(0, "b");
    let mut joined = replacement
        .call(manager.post("/v1/join", replacement.joining()))
        .send()
        .await
        .unwrap();
    // Until the broken connection was noticed.
    while joined.status() == 409 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        joined = replacement
            .call(manager.post("/v1/join", replacement.joining()))
            .send()
            .await
            .unwrap();
    }
    let released = Joined::Released {
        release: Release::ShardLost,
    };
    assert_eq!(joined.json::<Joined>().await.unwrap(), released);

    let gathered = manager.server.gather().await.unwrap();
    let lost = gathered.workers[0].lost.unwrap();
    // All were due before the loss: those without outcome may have been sent.
    assert_eq!((lost.not_sent, lost.unknown), (0, REQUESTS - 1));
    assert_eq!(rows(&gathered).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_missed_the_start_has_sent_nothing() {
    let manager = Manager::with_plan().await;
    let [one, two] = manager.replaying().await;
    one.deliver_all().await;
    good::<serde_json::Value>(two.ready_call()).await;
    let gathered = manager.server.gather().await.unwrap();
    let lost = gathered.workers[1].lost.unwrap();
    assert_eq!((lost.not_sent, lost.unknown), (REQUESTS, 0));
    let not_sent = Ending::NotSent(NotSentReason::WorkerLost);
    let rows = rows(&gathered);
    assert!(
        rows.iter()
            .filter(|row| row.request % 2 == 1)
            .all(|row| row.ending == not_sent)
    );
    assert_eq!(rows.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_changes_nothing_and_a_contradiction_ends_the_run() {
    let manager = Manager::with_plan().await;
    let [one, two] = manager.replaying().await;
    for garbage in [Vec::new(), b"garbage".to_vec(), vec![0xff; 4_096]] {
        let (status, code, message) = refused(one.outcomes_call(garbage)).await;
        assert_eq!((status, code), (400, RefusalCode::Malformed), "{message}");
    }
    let mut head = one.head(1).await;
    let (status, code, message) = refused(one.outcomes_call(encode(&head, &[]).unwrap())).await;
    assert_eq!((status, code), (409, RefusalCode::OutOfOrder));
    assert!(message.contains("number 0 is wanted"), "{message}");
    assert_eq!(manager.server.status().message, None);

    // A request of the other worker.
    head.number = 0;
    let body = encode(&head, &[outcome(0), outcome(1)]).unwrap();
    let (status, code, message) = refused(one.outcomes_call(body)).await;
    assert_eq!((status, code), (400, RefusalCode::Malformed));
    assert!(message.contains("request 1 is not of its shard"), "{message}");
    let directive = next_directive(&two, 0).await;
    assert!(matches!(directive.stop, Some(Stop::Aborted { .. })));
    two.deliver_all().await;
    let gathered = manager.server.gather().await.unwrap();
    assert!(matches!(gathered.stop, Some(Stop::Aborted { .. })));
    // Not even the outcome that was good.
    assert!(rows(&gathered).iter().all(|row| row.request % 2 == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_wakes_whoever_waits() {
    let manager = Manager::with_plan().await;
    let [one, _two] = manager.replaying().await;
    let seen = one.control(0).await.number;
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let call = manager.post("/v1/control", json!({"cancel": true}));
        good::<serde_json::Value>(call.bearer_auth(manager.operator().expose())).await
    };
    // One call: it is answered when there is news, and not only when its time is up.
    let (directive, status) = tokio::join!(one.control(seen), cancel);
    assert_eq!(directive.stop, Some(Stop::Cancelled));
    assert_eq!(status["message"], "The run was cancelled.");
}

#[tokio::test]
async fn a_command_that_is_none_is_refused() {
    let manager = Manager::with_plan().await;
    for (command, part) in [
        (json!({"deadline": "soon"}), "Cannot use \"soon\" as the deadline"),
        (json!({"halt": true}), "unknown field `halt`"),
    ] {
        let call = manager.post("/v1/control", command);
        let (status, code, message) = refused(call.bearer_auth(manager.operator().expose())).await;
        assert_eq!((status, code), (400, RefusalCode::Malformed));
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_deadline_in_the_past_ends_the_run() {
    let manager = Manager::with_plan().await;
    let call = manager.post("/v1/control", json!({"deadline": "2001-02-03T04:05:06Z"}));
    good::<serde_json::Value>(call.bearer_auth(manager.operator().expose())).await;
    let error = manager.server.gather().await.unwrap_err();
    assert!(
        matches!(error, GatherError::Failed(Failure::DeadlinePassed)),
        "{error}"
    );
    let released = Joined::Released {
        release: Release::RunFailed,
    };
    assert_eq!(manager.worker(0, "a").join().await, released);
}

#[tokio::test]
async fn a_worker_of_another_version_is_told_so() {
    let manager = Manager::with_plan().await;
    let worker = manager.worker(0, "a");
    let mut joining = worker.joining();
    joining.version = "0.0.1".to_owned();
    let (status, code, message) = refused(worker.call(manager.post("/v1/join", joining))).await;
    assert_eq!((status, code), (400, RefusalCode::WrongVersion), "{message}");
}

#[tokio::test]
async fn a_second_worker_of_one_index_is_told_so() {
    let manager = Manager::with_plan().await;
    manager.worker(1, "a").join().await;
    let second = manager.worker(1, "b");
    let (status, code, message) = refused(second.call(manager.post("/v1/join", second.joining()))).await;
    assert_eq!((status, code), (409, RefusalCode::IndexTaken), "{message}");
    let none = manager.worker(2, "a");
    let (status, code, message) = refused(none.call(manager.post("/v1/join", none.joining()))).await;
    assert_eq!((status, code), (404, RefusalCode::NoSuchIndex), "{message}");
    let (status, code, _) = refused(second.ready_call()).await;
    assert_eq!((status, code), (409, RefusalCode::Replaced));
    let shard = second.call(manager.get("/v1/shards/1?incarnation=b"));
    assert_eq!(refused(shard).await.1, RefusalCode::Replaced);
}

#[tokio::test]
async fn the_clock_goes_on() {
    let manager = Manager::start().await;
    let worker = manager.worker(0, "a");
    let (one, two) = (worker.clock().await, worker.clock().await);
    assert!(one.manager_ns < two.manager_ns);
    assert_eq!(one.manager, two.manager);
}
