//! Runs of few workers, step by step.

mod arming;
mod control;
mod gathering;
mod interleavings;
mod joining;

use reprise_contract::Histogram;
use reprise_contract::protocol::batch::BatchHead;
use reprise_contract::protocol::{
    Armed, Capacity, Confirmed, Directive, Incarnation, Join, PROTOCOL, Readied, Ready, Stop,
};

use super::*;

/// Nanoseconds of a millisecond.
const MS: i64 = 1_000_000;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000 * MS;
/// Requests of each shard.
const REQUESTS: u32 = 10;

/// A life of a worker.
fn life(name: &str) -> Incarnation {
    Incarnation::try_from(name.to_owned()).unwrap()
}

/// A run and the time.
struct Run {
    coordinator: Coordinator,
    now: i64,
}

impl Run {
    /// A run whose plan is ready, and for as many workers.
    fn of(workers: usize) -> Self {
        Self::by(Rules::default(), workers, Box::new(|_| Ok(())))
    }

    fn by(rules: Rules, workers: usize, enough: Enough) -> Self {
        let mut run = Self::without_plan(rules);
        let facts = ShardFacts {
            requests: REQUESTS,
            end_ns: 60 * SECOND,
        };
        let plan = PlanFacts {
            shards: vec![facts; workers],
            timeout: Duration::from_secs(10),
            enough,
        };
        run.coordinator.plan_ready(run.now, plan);
        run
    }

    fn without_plan(rules: Rules) -> Self {
        Self {
            coordinator: Coordinator::new(rules, life("manager")),
            now: 5 * SECOND,
        }
    }

    /// A run in which all have their `Go`.
    fn armed(workers: u32) -> Self {
        let mut run = Self::of(workers as usize);
        run.arm_all("a");
        run
    }

    /// A run that is past T0.
    fn replaying(workers: u32) -> Self {
        Self::armed(workers).past_t0()
    }

    fn past_t0(mut self) -> Self {
        self.pass(4 * SECOND);
        assert_eq!(self.coordinator.stage(), Some(Stage::Replaying));
        self
    }

    fn arm_all(&mut self, name: &str) {
        let workers = self.coordinator.workers();
        for index in 0..workers {
            assert_eq!(self.join(index, name), Ok(JoinAnswer::Welcome));
            self.ready(index, name).unwrap();
        }
        self.go(name);
    }

    /// All are ready: they are told T0, confirm it and get their `Go`.
    fn go(&mut self, name: &str) {
        let workers = self.coordinator.workers();
        for index in 0..workers {
            self.arm(index, name).unwrap();
        }
        for index in 0..workers {
            assert_eq!(self.confirmed(index, name), Ok(Some(Confirmed::Go)));
        }
    }

    fn pass(&mut self, ns: i64) {
        self.now += ns;
        self.coordinator.advance(self.now);
    }

    /// Lets time pass while these workers are heard from.
    fn pass_with(&mut self, seconds: i64, alive: &[(u32, &str)]) {
        for _ in 0..seconds {
            self.pass(SECOND);
            for (index, name) in alive {
                self.coordinator.hear(self.now, *index, &life(name)).unwrap();
            }
        }
    }

    fn join(&mut self, index: u32, name: &str) -> Result<JoinAnswer, Refused> {
        self.coordinator.join(self.now, &join_of(index, name))
    }

    fn ready(&mut self, index: u32, name: &str) -> Result<Readied, Refused> {
        let ready = Ready {
            incarnation: life(name),
            failure: None,
        };
        self.coordinator.ready(self.now, index, &ready)?;
        self.coordinator.readied(self.now, index, &life(name))
    }

    /// Is told T0 and confirms it.
    fn arm(&mut self, index: u32, name: &str) -> Result<(), Refused> {
        match self.coordinator.readied(self.now, index, &life(name))? {
            Readied::Start { epoch, t0_manager_ns } => {
                let armed = Armed {
                    incarnation: life(name),
                    epoch,
                    t0_manager_ns,
                };
                self.coordinator.armed(self.now, index, &armed)
            }
            other => panic!("{other:?}"),
        }
    }

    fn confirmed(&mut self, index: u32, name: &str) -> Result<Option<Confirmed>, Refused> {
        let epoch = self.coordinator.epoch;
        self.coordinator.confirmed(self.now, index, &life(name), epoch)
    }

    fn directive(&mut self, index: u32) -> Directive {
        self.coordinator.directive_of(index).unwrap()
    }

    /// Delivers the next batch with so many outcomes.
    fn deliver(&mut self, index: u32, name: &str, outcomes: u32, is_last: bool) -> Result<u64, Refused> {
        let number = self.coordinator.slots[index as usize].delivery.next;
        let mut head = head_of(name, number);
        head.sent = outcomes;
        head.is_last = is_last;
        self.store(index, &head, outcomes)
    }

    fn store(&mut self, index: u32, head: &BatchHead, outcomes: u32) -> Result<u64, Refused> {
        match self.coordinator.admit(self.now, index, head, outcomes as usize)? {
            Admission::Known(next) => Ok(next),
            Admission::New => {
                let counts = BatchCounts {
                    outcomes,
                    completed: outcomes,
                    ..BatchCounts::default()
                };
                self.coordinator.commit(self.now, index, head, counts)
            }
        }
    }

    fn failure(&self) -> String {
        self.coordinator.failure().unwrap().to_string()
    }

    fn loss(&self, index: u32) -> Option<Loss> {
        self.coordinator.records()[index as usize].loss.clone()
    }
}

fn join_of(index: u32, name: &str) -> Join {
    Join {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        index,
        incarnation: life(name),
        capacity: Capacity {
            threads: 1,
            requests_per_second: 1_000,
            connections: 1_000,
        },
    }
}

fn head_of(name: &str, number: u64) -> BatchHead {
    BatchHead {
        incarnation: life(name),
        number,
        watermark_ns: None,
        sent: 0,
        t0_local_ns: 0,
        clock: Vec::new(),
        gaps: Histogram::default(),
        is_last: false,
        stopped: None,
        is_leaving: false,
    }
}

fn aborted(message: &str) -> Stop {
    Stop::Aborted {
        message: message.to_owned(),
    }
}
