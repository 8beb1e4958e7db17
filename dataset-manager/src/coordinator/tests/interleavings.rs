//! Whatever comes in whatever order: what the coordinator guarantees holds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const WORKERS: u32 = 3;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes, in milliseconds; workers that started look at their directive meanwhile.
    Pass(i64),
    /// The process of this worker is killed and another is started; or not noticed to be dead.
    Restart { worker: u32, is_noticed: bool },
    /// The process does what it is to do next.
    Act { worker: u32 },
    /// A predecessor that is still there does so.
    Haunt { worker: u32 },
    /// The last call is repeated, as its answer was lost.
    Repeat { worker: u32 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let worker = 0..WORKERS;
    let step = prop_oneof![
        2 => (1..1_500_i64).prop_map(Step::Pass),
        1 => (worker.clone(), any::<bool>()).prop_map(|(worker, is_noticed)| Step::Restart { worker, is_noticed }),
        12 => worker.clone().prop_map(|worker| Step::Act { worker }),
        1 => worker.clone().prop_map(|worker| Step::Haunt { worker }),
        1 => worker.prop_map(|worker| Step::Repeat { worker }),
    ];
    prop::collection::vec(step, 1..250)
}

/// A process of a worker, as it should behave.
#[derive(Clone, Debug)]
struct Process {
    name: String,
    state: State,
    batch: u64,
    outcomes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Joining,
    Loading,
    Asking,
    Told { epoch: u32, t0_ns: i64 },
    Waiting { epoch: u32, t0_ns: i64 },
    Promised { epoch: u32, t0_ns: i64 },
    Started { t0_ns: i64 },
    Gone,
}

/// A run of processes, and what was seen of it.
struct World {
    run: Run,
    processes: Vec<Process>,
    ghosts: Vec<Option<Process>>,
    lives: u32,
    /// Who confirmed which epoch.
    armed: BTreeMap<u32, BTreeSet<u32>>,
    /// Outcomes that were accepted, by life.
    accepted: BTreeMap<String, u32>,
}

impl World {
    fn new() -> Self {
        let mut run = Run::of(WORKERS as usize);
        run.coordinator.rules.on_loss = OnLoss::GoOn;
        let process = |index| Process {
            name: format!("first-{index}"),
            state: State::Joining,
            batch: 0,
            outcomes: 0,
        };
        Self {
            run,
            processes: (0..WORKERS).map(process).collect(),
            ghosts: (0..WORKERS).map(|_| None).collect(),
            lives: 0,
            armed: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass(ms) => self.pass(ms),
            Step::Restart { worker, is_noticed } => self.restart(worker, is_noticed),
            Step::Act { worker } => {
                let process = self.processes[worker as usize].clone();
                self.processes[worker as usize] = self.act(worker, process);
            }
            Step::Haunt { worker } => {
                if let Some(ghost) = self.ghosts[worker as usize].take() {
                    self.ghosts[worker as usize] = Some(self.act(worker, ghost));
                }
            }
            Step::Repeat { worker } => {
                let process = self.processes[worker as usize].clone();
                // What comes of it is lost.
                self.act(worker, process);
            }
        }
        self.check();
    }

    /// Time passes in small steps; whoever was promised T0 sees a call-off in time, or starts.
    fn pass(&mut self, ms: i64) {
        for _ in 0..(ms + 49) / 50 {
            self.run.pass(50 * MS);
            for index in 0..WORKERS {
                let mut process = self.processes[index as usize].clone();
                self.watch(index, &mut process);
                self.processes[index as usize] = process;
                if let Some(mut ghost) = self.ghosts[index as usize].take() {
                    self.watch(index, &mut ghost);
                    self.ghosts[index as usize] = Some(ghost);
                }
            }
        }
    }

    fn watch(&mut self, index: u32, process: &mut Process) {
        let now = self.run.now;
        let directive = self.run.coordinator.control(now, index, &life(&process.name), 0);
        match (process.state, directive) {
            (_, Ok(Some(directive))) if directive.release.is_some() => process.state = State::Gone,
            (State::Promised { epoch, .. }, Ok(Some(directive))) if directive.epoch > epoch => {
                process.state = State::Asking;
            }
            (State::Promised { .. }, Err(_)) => process.state = State::Gone,
            (State::Promised { t0_ns, .. }, _) if now >= t0_ns => process.state = State::Started { t0_ns },
            (State::Waiting { t0_ns, .. } | State::Told { t0_ns, .. }, _) if now >= t0_ns - 2 * SECOND => {
                process.state = State::Asking;
            }
            _ => {}
        }
    }

    fn restart(&mut self, worker: u32, is_noticed: bool) {
        let at = worker as usize;
        self.lives += 1;
        let next = Process {
            name: format!("next-{}", self.lives),
            state: State::Joining,
            batch: 0,
            outcomes: 0,
        };
        let last = std::mem::replace(&mut self.processes[at], next);
        if is_noticed {
            let now = self.run.now;
            self.run.coordinator.broke_off(now, worker, &life(&last.name));
            self.ghosts[at] = None;
        } else if !matches!(last.state, State::Started { .. } | State::Promised { .. }) {
            self.ghosts[at] = Some(last);
        }
    }

    fn act(&mut self, index: u32, mut process: Process) -> Process {
        let name = process.name.clone();
        process.state = match process.state {
            State::Joining => match self.run.join(index, &name) {
                Ok(JoinAnswer::Welcome) => State::Loading,
                Ok(JoinAnswer::Released(_)) => State::Gone,
                Ok(JoinAnswer::NotYet) | Err(_) => State::Joining,
            },
            State::Loading | State::Asking => match self.run.ready(index, &name) {
                Ok(Readied::Start { epoch, t0_manager_ns }) => State::Told {
                    epoch,
                    t0_ns: t0_manager_ns,
                },
                Ok(Readied::NotYet { .. }) => State::Asking,
                Ok(Readied::Released { .. }) | Err(_) => State::Gone,
            },
            State::Told { epoch, t0_ns } => {
                let armed = Armed {
                    incarnation: life(&name),
                    epoch,
                    t0_manager_ns: t0_ns,
                };
                let now = self.run.now;
                match self.run.coordinator.armed(now, index, &armed) {
                    Ok(()) => {
                        self.armed.entry(epoch).or_default().insert(index);
                        State::Waiting { epoch, t0_ns }
                    }
                    Err(_) => State::Gone,
                }
            }
            State::Waiting { epoch, t0_ns } => self.wait(index, &name, epoch, t0_ns),
            State::Started { t0_ns } => {
                self.deliver(index, &mut process);
                State::Started { t0_ns }
            }
            state @ (State::Promised { .. } | State::Gone) => state,
        };
        process
    }

    fn wait(&mut self, index: u32, name: &str, epoch: u32, t0_ns: i64) -> State {
        let now = self.run.now;
        match self.run.coordinator.confirmed(now, index, &life(name), epoch) {
            Ok(Some(Confirmed::Go)) => {
                assert_eq!(
                    self.armed.get(&epoch).map(BTreeSet::len),
                    Some(WORKERS as usize),
                    "go for epoch {epoch}, which not all have confirmed"
                );
                assert!(now < t0_ns - 2 * SECOND, "go too late");
                State::Promised { epoch, t0_ns }
            }
            Ok(Some(Confirmed::Moved)) => State::Asking,
            Ok(None) => State::Waiting { epoch, t0_ns },
            Ok(Some(Confirmed::Released { .. })) | Err(_) => State::Gone,
        }
    }

    fn deliver(&mut self, index: u32, process: &mut Process) {
        let outcomes = (REQUESTS - process.outcomes).min(3);
        let mut head = head_of(&process.name, process.batch);
        head.sent = process.outcomes + outcomes;
        head.is_last = head.sent == REQUESTS;
        let before = self.run.coordinator.numbers(self.run.now).received;
        if let Ok(next) = self.run.store(index, &head, outcomes) {
            let new = self.run.coordinator.numbers(self.run.now).received - before;
            assert!(new == u64::from(outcomes) || new == 0);
            *self.accepted.entry(process.name.clone()).or_default() += u32::try_from(new).unwrap();
            assert_eq!(next, process.batch + 1);
            process.batch = next;
            process.outcomes += outcomes;
        }
    }

    fn check(&mut self) {
        let now = self.run.now;
        for index in 0..WORKERS {
            // One incarnation holds a shard, at most.
            let process = &self.processes[index as usize];
            let ghost = self.ghosts[index as usize].as_ref();
            let names = [Some(&process.name), ghost.map(|ghost| &ghost.name)];
            let slot = &self.run.coordinator.slots[index as usize];
            let held = names
                .into_iter()
                .flatten()
                .filter(|name| slot.is_held_by(&life(name)));
            assert!(held.count() <= 1);
            // Delivered once.
            assert!(slot.delivery.delivered <= REQUESTS);
        }
        // Either all start, or none has sent anything.
        for process in &self.processes {
            if let State::Started { t0_ns } = process.state {
                assert_eq!(self.run.coordinator.t0_ns(), Some(t0_ns), "{:?}", self.processes);
                assert!(self.run.coordinator.is_sending());
            }
        }
        // Counts add up.
        let numbers = self.run.coordinator.numbers(now);
        let accepted: u32 = self.accepted.values().sum();
        assert_eq!(numbers.received, u64::from(accepted));
        if self.run.coordinator.is_over() {
            for slot in &self.run.coordinator.slots {
                assert!(slot.loss().is_some() || slot.delivery.delivered == REQUESTS);
            }
        }
    }

    /// Predecessors end, and everybody does what is to be done, for as long as a run may take.
    fn go_on(&mut self) {
        self.ghosts.fill(None);
        for _ in 0..1_500 {
            for worker in 0..WORKERS {
                self.take(&Step::Act { worker });
            }
            self.take(&Step::Pass(100));
            if self.run.coordinator.is_over() || self.run.coordinator.failure().is_some() {
                return;
            }
        }
        panic!("neither over nor failed: {:?}", self.processes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_guaranteed_holds_and_every_run_ends(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        world.go_on();
    }
}
