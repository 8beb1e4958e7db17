//! The official Python clients, which judge the hub and everything that shares a cache with them.

use std::path::Path;
use std::process::{Command, Output};

use super::Hub;

impl Hub {
    /// Runs a script with the official clients, which use this hub and keep their files below `home`. Returns what it
    /// prints.
    #[must_use]
    pub fn python(&self, home: &Path, script: &str) -> String {
        self.python_with(home, &[], script)
    }

    /// The same with more environment variables: `HF_HUB_OFFLINE`, `HF_TOKEN`.
    #[must_use]
    pub fn python_with(&self, home: &Path, variables: &[(&str, &str)], script: &str) -> String {
        let output = self.python_output(home, variables, script);
        assert!(
            output.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn python_output(&self, home: &Path, variables: &[(&str, &str)], script: &str) -> Output {
        Command::new("python3")
            .args(["-c", script])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("HF_HOME", home)
            .env("HF_ENDPOINT", self.endpoint())
            .env("HF_HUB_DISABLE_XET", "1")
            .env("HF_HUB_DISABLE_TELEMETRY", "1")
            .env("HF_HUB_DISABLE_UPDATE_CHECK", "1")
            .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
            .envs(variables.iter().copied())
            .output()
            .expect("python3 is not on the path: run scripts/tools, and source scripts/env.sh")
    }
}
