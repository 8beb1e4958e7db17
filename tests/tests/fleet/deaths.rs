//! Whatever dies and whenever: a run ends in a report whose counts add up, or in a failure that says why.

use std::time::{Duration, Instant};
use std::{env, thread};

use reprise_contract::summary::Summary;

use crate::endpoint;
use crate::processes::{Ended, Fleet, Setting};

const REQUESTS: u32 = 300;
const WORKERS: u32 = 3;
/// How many rounds, and the number of the first. 200 rounds take a quarter of an hour.
const ROUNDS: &str = "REPRISE_DEATH_ROUNDS";
const FIRST_ROUND: &str = "REPRISE_DEATH_FIRST_ROUND";
const USUAL_ROUNDS: u64 = 6;
/// Rounds that are played side by side.
const AT_ONCE: usize = 3;
/// The latest that something is killed, counted from the start: about when a run is over.
const LATEST_MS: u64 = 12_000;
/// How long a replacement takes to come.
const REPLACED_AFTER: Duration = Duration::from_millis(700);

/// What is killed, and when.
#[derive(Clone, Copy, Debug)]
struct Death {
    after: Duration,
    victim: Victim,
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Manager,
    Worker(u32),
}

/// `SplitMix64`: numbers that look random, the same in every run of a round.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn deaths(round: u64) -> Vec<Death> {
    let mut numbers = Numbers(round);
    let mut deaths: Vec<_> = (0..=numbers.below(3))
        .map(|_| Death {
            after: Duration::from_millis(numbers.below(LATEST_MS)),
            victim: match numbers.below(5) {
                0 => Victim::Manager,
                other => Victim::Worker(u32::try_from(other % u64::from(WORKERS)).unwrap()),
            },
        })
        .collect();
    deaths.sort_by_key(|death| death.after);
    deaths
}

#[test]
fn deaths_at_any_instant_leave_counts_that_add_up_or_a_clear_failure() {
    let number = |name, usual| env::var(name).map_or(usual, |text| text.parse().unwrap());
    let first = number(FIRST_ROUND, 0);
    let rounds: Vec<u64> = (first..first + number(ROUNDS, USUAL_ROUNDS)).collect();
    for some in rounds.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for round in some {
                scope.spawn(|| play(*round));
            }
        });
    }
}

fn play(round: u64) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    endpoint::write_trace(&trace, REQUESTS, 20);
    let endpoint = endpoint::start("127.0.0.1");
    let mut spec = endpoint::spec(&trace, &endpoint.url());
    spec["workers"]["lossPolicy"] = if round.is_multiple_of(2) {
        "Fail"
    } else {
        "Degrade"
    }
    .into();
    let mut setting = Setting::new(spec, WORKERS);
    setting
        .of_workers
        .push(("REPRISE_MANAGER_TIMEOUT", "5s".to_owned()));
    let mut fleet = Fleet::start(setting);
    let deaths = deaths(round);
    let manager_died = kill_by_turns(&mut fleet, &deaths);
    let ended = fleet.wait();
    let arrived = endpoint.arrivals().len() as u64;
    let story = format!(
        "round {round}: {deaths:?}, {arrived} arrived, manager {:?}, workers {:?}, {:?}",
        ended.manager, ended.workers, ended.message
    );
    println!("{story}");
    if manager_died {
        assert!(!ended.manager.success(), "{story}");
    } else {
        check(&ended, arrived, &story);
    }
}

/// Kills what is to be killed when it is to be, and replaces workers that died, as Kubernetes would. Whether the manager was killed.
fn kill_by_turns(fleet: &mut Fleet, deaths: &[Death]) -> bool {
    let begun = Instant::now();
    let mut replacements: Vec<(Instant, u32)> = Vec::new();
    let mut deaths = deaths.iter().peekable();
    while fleet.is_running() {
        if let Some(death) = deaths.next_if(|death| begun.elapsed() >= death.after) {
            match death.victim {
                Victim::Manager => {
                    fleet.kill_manager();
                    return true;
                }
                Victim::Worker(index) => {
                    if fleet.kill_worker(index) {
                        replacements.push((Instant::now() + REPLACED_AFTER, index));
                    }
                }
            }
        }
        replacements.retain(|(at, index)| {
            let is_due = Instant::now() >= *at;
            if is_due {
                fleet.start_worker(*index);
            }
            !is_due
        });
        if deaths.peek().is_none() && replacements.is_empty() {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Every planned request is sent, not sent, dropped or unknown, and what the endpoint saw lies between what is known to have gone and
/// what may have.
fn check(ended: &Ended, arrived: u64, story: &str) {
    let Some(message) = &ended.message else {
        panic!("the manager left no message: {story}\n{}", ended.log);
    };
    assert!(!message.message.is_empty() || ended.manager.success(), "{story}");
    let Some(summary) = &ended.summary else {
        assert!(!ended.manager.success(), "{story}");
        assert_eq!(
            arrived, 0,
            "nothing is sent without a report: {story}\n{}",
            ended.log
        );
        return;
    };
    let (sent, completed) = sent_and_completed(summary);
    let counts = &summary.counts;
    assert_eq!(counts.planned, u64::from(REQUESTS), "{story}");
    assert_eq!(
        sent + counts.dropped + counts.not_sent + counts.unknown,
        counts.planned,
        "{story}\n{counts:?}"
    );
    assert!(completed <= arrived, "{story}\n{counts:?}");
    assert!(arrived <= sent + counts.unknown, "{story}\n{counts:?}");
}

/// There is no warm-up here, so the measured ones are all.
fn sent_and_completed(summary: &Summary) -> (u64, u64) {
    (summary.counts.sent, summary.counts.completed)
}
