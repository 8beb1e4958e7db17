//! The worker under test, as a process.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reprise_contract::termination::TerminationMessage;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::manager::Manager;

/// A worker; killed when it is dropped.
pub(crate) struct Worker {
    child: Child,
    folder: TempDir,
}

impl Worker {
    pub(crate) fn start(manager: &Manager) -> Self {
        Self::with(manager, &[])
    }

    /// Starts with more variables.
    pub(crate) fn with(manager: &Manager, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_reprise-worker"))
            .env_clear()
            .env("REPRISE_MANAGER_URL", manager.url())
            .env("REPRISE_RUN_SECRETS", manager.secrets.path())
            .env("REPRISE_WORKER_INDEX", "1")
            .env("REPRISE_INCARNATION", "life-1")
            .env("REPRISE_THREADS", "1")
            .env("REPRISE_SCRATCH", folder.path())
            .env("REPRISE_TERMINATION_MESSAGE", folder.path().join("message.json"))
            .env("REPRISE_LOG", "info")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    /// Waits for its end; gives its exit code.
    pub(crate) fn exit_code(&mut self) -> i32 {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            assert!(
                started.elapsed() < Duration::from_mins(1),
                "the worker does not end"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// What it left as its last words.
    pub(crate) fn last_words(&self) -> TerminationMessage {
        let words = std::fs::read(self.folder.path().join("message.json")).unwrap();
        serde_json::from_slice(&words).unwrap()
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It has ended in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
