//! A run as the processes of a cluster would have it: a dataset-manager, its workers, and nobody else to help them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use reprise_contract::Summary;
use reprise_contract::termination::TerminationMessage;
use reprise_identity::{Certificate, RunKey, RunSecrets};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest that a run of a test may take. It is killed then, and the test fails: nothing may hang.
const LIMIT: Duration = Duration::from_mins(3);
const TICK: Duration = Duration::from_millis(20);

/// How a fleet is set up.
pub(crate) struct Setting {
    /// The spec of the `ReplayJob`.
    pub(crate) spec: Value,
    /// How many workers.
    pub(crate) workers: u32,
    /// More environment of the manager.
    pub(crate) of_manager: Vec<(&'static str, String)>,
    /// More environment of the workers.
    pub(crate) of_workers: Vec<(&'static str, String)>,
    /// What starts a worker, before its program's name: `ip netns exec x`, say.
    pub(crate) launchers: BTreeMap<u32, Vec<String>>,
    /// Where the manager listens for workers.
    pub(crate) port: u16,
    /// Where workers look for the manager, when not at its own address.
    pub(crate) manager_urls: BTreeMap<u32, String>,
}

impl Setting {
    pub(crate) fn new(mut spec: Value, workers: u32) -> Self {
        spec["workers"]["replicas"] = json!(workers);
        Self {
            spec,
            workers,
            of_manager: Vec::new(),
            of_workers: Vec::new(),
            launchers: BTreeMap::new(),
            port: reprise_test_servers::free_port(),
            manager_urls: BTreeMap::new(),
        }
    }
}

/// A manager and its workers, which are killed when it is dropped.
pub(crate) struct Fleet {
    setting: Setting,
    folder: TempDir,
    manager: Child,
    workers: BTreeMap<u32, Child>,
    lives: u32,
    begun: Instant,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) manager: ExitStatus,
    pub(crate) workers: BTreeMap<u32, ExitStatus>,
    pub(crate) message: Option<TerminationMessage>,
    pub(crate) summary: Option<Summary>,
    pub(crate) log: String,
}

impl Fleet {
    /// Starts the manager and all workers.
    pub(crate) fn start(setting: Setting) -> Self {
        let mut fleet = Self::start_manager(setting);
        for index in 0..fleet.setting.workers {
            fleet.start_worker(index);
        }
        fleet
    }

    /// Starts the manager alone.
    pub(crate) fn start_manager(setting: Setting) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let local_port = reprise_test_servers::free_port();
        write_run(folder.path(), &setting);
        let manager = manager(folder.path(), &setting, local_port);
        Self {
            setting,
            folder,
            manager,
            workers: BTreeMap::new(),
            lives: 0,
            begun: Instant::now(),
        }
    }

    pub(crate) fn control_file(&self) -> PathBuf {
        self.folder.path().join("control.json")
    }

    /// Starts a worker under an index; the one that had it before is gone.
    pub(crate) fn start_worker(&mut self, index: u32) {
        self.lives += 1;
        let life = format!("worker-{index}-{}", self.lives);
        let scratch = self.folder.path().join(&life);
        fs::create_dir(&scratch).unwrap();
        let url = self
            .setting
            .manager_urls
            .get(&index)
            .cloned()
            .unwrap_or_else(|| format!("https://127.0.0.1:{}", self.setting.port));
        let mut command = match self.setting.launchers.get(&index).map(Vec::as_slice) {
            Some([program, arguments @ ..]) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(binary("reprise-worker"));
                command
            }
            _ => Command::new(binary("reprise-worker")),
        };
        command
            .env("REPRISE_MANAGER_URL", url)
            .env("REPRISE_RUN_SECRETS", self.folder.path().join("secrets"))
            .env("REPRISE_WORKER_INDEX", index.to_string())
            .env("REPRISE_INCARNATION", &life)
            .env("REPRISE_THREADS", "1")
            .env("REPRISE_SCRATCH", &scratch)
            .env("REPRISE_TERMINATION_MESSAGE", scratch.join("termination"))
            .env("REPRISE_LOG", "info")
            .envs(self.setting.of_workers.iter().cloned())
            .stdout(Stdio::null())
            .stderr(log_file(self.folder.path(), &life));
        self.workers.insert(index, command.spawn().unwrap());
    }

    /// Kills a worker at once. `false`: it had ended before.
    pub(crate) fn kill_worker(&mut self, index: u32) -> bool {
        let worker = self.workers.get_mut(&index).unwrap();
        if worker.try_wait().unwrap().is_some() {
            return false;
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        true
    }

    /// Kills the manager at once.
    pub(crate) fn kill_manager(&mut self) {
        self.manager.kill().unwrap();
    }

    pub(crate) fn manager_pid(&self) -> u32 {
        self.manager.id()
    }

    /// Whether the manager still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.manager.try_wait().unwrap().is_none()
    }

    /// Waits until a worker has ended by itself.
    pub(crate) fn wait_for_worker(&mut self, index: u32) -> ExitStatus {
        let worker = self.workers.get_mut(&index).unwrap();
        loop {
            if let Some(exit) = worker.try_wait().unwrap() {
                return exit;
            }
            assert!(self.begun.elapsed() < LIMIT, "worker {index} hangs");
            thread::sleep(TICK);
        }
    }

    /// Waits for the end of everything.
    pub(crate) fn wait(mut self) -> Ended {
        let manager = loop {
            if let Some(exit) = self.manager.try_wait().unwrap() {
                break exit;
            }
            assert!(self.begun.elapsed() < LIMIT, "the manager hangs:\n{}", self.log());
            thread::sleep(TICK);
        };
        if !manager.success() {
            self.end_workers();
        }
        let indexes: Vec<u32> = self.workers.keys().copied().collect();
        let workers = indexes
            .into_iter()
            .map(|index| (index, self.wait_for_worker(index)))
            .collect();
        let read = |name: &str| fs::read(self.folder.path().join(name)).ok();
        Ended {
            manager,
            workers,
            message: read("termination").map(|json| serde_json::from_slice(&json).unwrap()),
            summary: read("results/fleet/0f3c9a2e-1/summary.json")
                .map(|json| serde_json::from_slice(&json).unwrap()),
            log: self.log(),
        }
    }

    /// Kills the workers, as a JobSet does whose dataset-manager has failed.
    fn end_workers(&mut self) {
        for worker in self.workers.values_mut() {
            // One that has ended cannot be killed, which is what is wanted.
            let _ = worker.kill();
        }
    }

    /// What all processes wrote on standard error.
    pub(crate) fn log(&self) -> String {
        let mut files: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        files.sort();
        let mut log = String::new();
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            writeln!(log, "--- {}\n{text}", path.file_stem().unwrap().display()).unwrap();
        }
        log
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for process in std::iter::once(&mut self.manager).chain(self.workers.values_mut()) {
            // One that has ended cannot be killed, which is what is wanted.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn write_run(folder: &Path, setting: &Setting) {
    fs::create_dir(folder.join("secrets")).unwrap();
    let names: Vec<String> = ["127.0.0.1", "localhost"]
        .into_iter()
        .map(str::to_owned)
        .chain(setting.manager_urls.values().map(|url| host_of(url)))
        .collect();
    let certificate = Certificate::for_run(&names, Duration::from_hours(1)).unwrap();
    let secrets = RunSecrets::new(
        certificate,
        &RunKey::generate().unwrap(),
        "0f3c9a2e-0000-4000-8000-000000000001",
        1,
    );
    secrets.write(&folder.join("secrets")).unwrap();
    let run = json!({
        "schemaVersion": "reprise.dev/run/v1",
        "name": "fleet",
        "uid": "0f3c9a2e-0000-4000-8000-000000000001",
        "attempt": 1,
        "spec": setting.spec,
    });
    fs::write(folder.join("run.json"), run.to_string()).unwrap();
}

fn host_of(url: &str) -> String {
    let host = url.trim_start_matches("https://");
    host.rsplit_once(':').map_or(host, |(host, _)| host).to_owned()
}

fn manager(folder: &Path, setting: &Setting, local_port: u16) -> Child {
    let scratch = folder.join("manager");
    fs::create_dir(&scratch).unwrap();
    let bind = if setting.manager_urls.is_empty() {
        Ipv4Addr::LOCALHOST
    } else {
        Ipv4Addr::UNSPECIFIED
    };
    Command::new(binary("reprise-dataset-manager"))
        .env("REPRISE_RUN_FILE", folder.join("run.json"))
        .env("REPRISE_RUN_SECRETS", folder.join("secrets"))
        .env("REPRISE_LISTEN", format!("{bind}:{}", setting.port))
        .env("REPRISE_LOCAL_LISTEN", format!("127.0.0.1:{local_port}"))
        .env("REPRISE_SCRATCH", scratch)
        .env("REPRISE_CONTROL_FILE", folder.join("control.json"))
        .env("REPRISE_TERMINATION_MESSAGE", folder.join("termination"))
        .env("REPRISE_RESULTS_DIR", folder.join("results"))
        .env("REPRISE_LOG", "info")
        .envs(setting.of_manager.iter().cloned())
        .stdout(Stdio::null())
        .stderr(log_file(folder, "manager"))
        .spawn()
        .unwrap()
}

fn log_file(folder: &Path, name: &str) -> fs::File {
    fs::File::create(folder.join(format!("{name}.log"))).unwrap()
}

/// A program of this workspace, which lies beside the folder of the tests.
pub(crate) fn binary(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().and_then(Path::parent).unwrap().join(name);
    assert!(
        path.exists(),
        "{} is not there: run scripts/test, which builds it",
        path.display()
    );
    path
}
