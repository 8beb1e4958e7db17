//! However many workers there are, the endpoint sees the same requests at the same times.

use std::process::ExitStatus;

use reprise_contract::summary::Verdict;

use crate::endpoint;
use crate::processes::{Ended, Fleet, Setting};

const REQUESTS: u32 = 600;
/// On a machine whose cores all run something else, this much is still no fault of the schedule.
const TOLERANCE_NS: i64 = 250_000_000;

struct Run {
    ended: Ended,
    digests: Vec<String>,
    /// When each request came, since the first.
    offsets_ns: Vec<i64>,
}

fn run(workers: u32) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    endpoint::write_trace(&trace, REQUESTS, 8);
    let endpoint = endpoint::start("127.0.0.1");
    let setting = Setting::new(endpoint::spec(&trace, &endpoint.url()), workers);
    let ended = Fleet::start(setting).wait();
    let arrivals = endpoint::arrivals(&endpoint);
    let first = arrivals.first().map_or(0, |first| first.arrival_ns);
    Run {
        digests: endpoint::digests(&endpoint),
        offsets_ns: arrivals
            .iter()
            .map(|arrival| i64::try_from(arrival.arrival_ns - first).unwrap())
            .collect(),
        ended,
    }
}

#[test]
fn one_two_five_and_eight_workers_send_the_same_on_the_same_schedule() {
    let alone = run(1);
    assert_eq!(alone.digests.len(), REQUESTS as usize, "{}", alone.ended.log);
    for workers in [2, 5, 8] {
        let run = run(workers);
        let log = &run.ended.log;
        assert!(run.ended.manager.success(), "{log}");
        assert!(run.ended.workers.values().all(ExitStatus::success), "{log}");
        assert_eq!(run.digests, alone.digests, "{workers} workers: the same bodies");
        let worst = run
            .offsets_ns
            .iter()
            .zip(&alone.offsets_ns)
            .map(|(one, other)| (one - other).abs())
            .max()
            .unwrap();
        assert!(worst < TOLERANCE_NS, "{workers} workers: off by {worst} ns");
        let summary = run.ended.summary.unwrap();
        assert_eq!(summary.verdict, Verdict::Succeeded, "{:?}", summary.message);
        assert_eq!(summary.counts.completed, u64::from(REQUESTS));
        assert_eq!(summary.counts.unknown, 0);
        assert_eq!(summary.workers.len(), workers as usize);
        let requests: u64 = summary.workers.iter().map(|worker| worker.requests).sum();
        assert_eq!(requests, u64::from(REQUESTS));
    }
}
