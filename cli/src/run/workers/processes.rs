//! Worker processes: this program again, by a subcommand of its own.

use std::env;
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use reprise_worker::member::variable;

use crate::args::WORKER_PROCESS;
use crate::exit::Failure;
use crate::logging;

/// Lives of one worker, at most.
const MOST_LIVES: u32 = 4;
/// How long workers may take to end by themselves, when the run is over.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked whether they have.
const TICK: Duration = Duration::from_millis(20);
/// How the names of variables begin that hold credentials of the dataset or of results, or say where these are.
const NOT_FOR_WORKERS: [&str; 5] = [
    "AWS_",
    "HF_",
    "HUGGING_FACE_",
    "REPRISE_RESULTS_",
    "REPRISE_INJECTED_",
];

/// What workers are told.
pub(super) struct WorkerSettings {
    /// The manager's URL.
    pub(super) manager: String,
    /// The folder of the run's secrets.
    pub(super) secrets: PathBuf,
    /// Each gets a folder in it.
    pub(super) scratch: PathBuf,
    /// Threads of each.
    pub(super) threads: NonZeroUsize,
    /// How many there are.
    pub(super) workers: NonZeroU32,
}

/// Worker processes. None outlives this.
pub(super) struct Processes {
    settings: WorkerSettings,
    program: PathBuf,
    slots: Vec<Slot>,
}

/// The lives of one worker.
struct Slot {
    index: u32,
    lives: u32,
    /// `None` once it was released.
    child: Option<Child>,
}

impl Processes {
    /// Starts them all.
    pub(super) fn start(settings: WorkerSettings) -> Result<Self, Failure> {
        let mut processes = Self {
            program: env::current_exe()?,
            slots: Vec::new(),
            settings,
        };
        for index in 0..processes.settings.workers.get() {
            let child = processes.spawn(index, 1)?;
            processes.slots.push(Slot {
                index,
                lives: 1,
                child: Some(child),
            });
        }
        Ok(processes)
    }

    /// Starts another process in the place of each that died.
    pub(super) fn replace(&mut self) -> Result<(), Failure> {
        for place in 0..self.slots.len() {
            let slot = &mut self.slots[place];
            let Some(ended) = slot.child.as_mut().map(Child::try_wait).transpose()?.flatten() else {
                continue;
            };
            slot.child = None;
            if ended.success() {
                continue;
            }
            let (index, lives) = (slot.index, slot.lives + 1);
            if lives > MOST_LIVES {
                return Err(too_many_lives(index, ended));
            }
            eprintln!("Worker {index} died ({ended}); another process takes its place");
            let child = self.spawn(index, lives)?;
            self.slots[place] = Slot {
                index,
                lives,
                child: Some(child),
            };
        }
        Ok(())
    }

    fn spawn(&self, index: u32, life: u32) -> io::Result<Child> {
        let scratch = self.settings.scratch.join(format!("worker-{index}-{life}"));
        std::fs::create_dir(&scratch)?;
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            let shown = name.to_string_lossy();
            if NOT_FOR_WORKERS.iter().any(|start| shown.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        if env::var_os(logging::VARIABLE).is_none() {
            command.env(logging::VARIABLE, logging::USUAL);
        }
        command
            .arg(WORKER_PROCESS)
            .env(variable::MANAGER_URL, &self.settings.manager)
            .env(variable::RUN_SECRETS, &self.settings.secrets)
            .env(variable::WORKER_INDEX, index.to_string())
            .env(variable::THREADS, self.settings.threads.to_string())
            .env(variable::TERMINATION_MESSAGE, scratch.join("termination.json"))
            .env(variable::SCRATCH, &scratch)
            .env_remove(variable::INCARNATION)
            .env_remove(variable::JOB_COMPLETION_INDEX)
            // It ends when this end is closed, so that it never outlives this process.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Ctrl-C is for this process alone, which tells the workers.
            .process_group(0)
            .spawn()
    }

    /// Waits for the processes to end; ends those that do not.
    pub(super) fn end(&mut self) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && self.slots.iter_mut().any(Slot::is_running) {
            sleep(TICK);
        }
        for slot in &mut self.slots {
            slot.kill();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            slot.kill();
        }
    }
}

impl Slot {
    fn is_running(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// One that has ended already cannot be ended, which is right.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn too_many_lives(index: u32, ended: ExitStatus) -> Failure {
    Failure::Run(anyhow::anyhow!(
        "Cannot go on: worker {index} died {MOST_LIVES} times, at last with {ended}. What it wrote above says why."
    ))
}
