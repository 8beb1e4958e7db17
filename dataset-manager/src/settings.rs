//! What the environment says about the process: everything else is in the run file.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprise_crds::TimeSpan;

/// Where the run file lies, unless the environment says otherwise.
const DEFAULT_RUN_FILE: &str = "/etc/reprise/run/run.json";
/// Where Kubernetes reads the termination message, if it runs the process.
const DEFAULT_TERMINATION_MESSAGE: &str = "/dev/termination-log";
/// How long workers may take to join, from the moment the plan is ready.
const DEFAULT_REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the process may take to end after it was told to.
const DEFAULT_GRACE: Duration = Duration::from_secs(100);
/// How long preparing may take, where neither environment nor spec say so.
pub const DEFAULT_STARTUP_BUDGET: Duration = Duration::from_hours(1);
/// The longest startup budget.
const MAX_STARTUP_BUDGET: Duration = Duration::from_hours(24);

/// The names of the variables.
pub mod variable {
    /// Path of the run file.
    pub const RUN_FILE: &str = "REPRISE_RUN_FILE";
    /// Folder of the run's Secret.
    pub const RUN_SECRETS: &str = "REPRISE_RUN_SECRETS";
    /// Address for workers and operator.
    pub const LISTEN: &str = "REPRISE_LISTEN";
    /// Loopback address for people.
    pub const LOCAL_LISTEN: &str = "REPRISE_LOCAL_LISTEN";
    /// Folder for what is needed while the run lasts.
    pub const SCRATCH: &str = "REPRISE_SCRATCH";
    /// How long workers may take to join.
    pub const REGISTRATION_TIMEOUT: &str = "REPRISE_REGISTRATION_TIMEOUT";
    /// How long preparing may take, in seconds.
    pub const STARTUP_BUDGET: &str = "REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS";
    /// File of commands that changes under the process.
    pub const CONTROL_FILE: &str = "REPRISE_CONTROL_FILE";
    /// Path of the termination message.
    pub const TERMINATION_MESSAGE: &str = "REPRISE_TERMINATION_MESSAGE";
    /// Folder where results are kept.
    pub const RESULTS_DIR: &str = "REPRISE_RESULTS_DIR";
    /// How long the process may take to end.
    pub const GRACE: &str = "REPRISE_GRACE";
}

/// What the environment says about the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The run file.
    pub run_file: PathBuf,
    /// The folder of the run's Secret.
    pub secrets: PathBuf,
    /// The address for workers and operator.
    pub listen: SocketAddr,
    /// The loopback address for people.
    pub local_listen: SocketAddr,
    /// The folder for what is needed while the run lasts.
    pub scratch: PathBuf,
    /// How long workers may take to join, from the moment the plan is ready.
    pub registration_timeout: Duration,
    /// How long preparing may take. `None`: as the spec says.
    pub startup_budget: Option<Duration>,
    /// A file of commands that changes under the process.
    pub control_file: Option<PathBuf>,
    /// A folder where results are kept, beside what the spec says.
    pub results_dir: Option<PathBuf>,
    /// How long the process may take to end after it was told to.
    pub grace: Duration,
}

/// Everything that is wrong with the environment. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(Vec<String>);

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// From the variables of the environment, as `lookup` knows them. An empty variable is like none.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, SettingsError> {
        let mut variables = Variables {
            lookup,
            problems: Vec::new(),
        };
        let settings = Self {
            run_file: variables
                .path(variable::RUN_FILE)
                .unwrap_or_else(|| DEFAULT_RUN_FILE.into()),
            secrets: variables.required_path(variable::RUN_SECRETS, "the folder of the run's Secret"),
            listen: variables.address(variable::LISTEN, SocketAddr::from(([0u16; 8], 8443))),
            local_listen: variables
                .loopback(variable::LOCAL_LISTEN, SocketAddr::from(([127, 0, 0, 1], 8080))),
            scratch: variables
                .path(variable::SCRATCH)
                .unwrap_or_else(std::env::temp_dir),
            registration_timeout: variables
                .duration(variable::REGISTRATION_TIMEOUT)
                .unwrap_or(DEFAULT_REGISTRATION_TIMEOUT),
            startup_budget: variables.startup_budget(),
            control_file: variables.path(variable::CONTROL_FILE),
            results_dir: variables.path(variable::RESULTS_DIR),
            grace: variables.duration(variable::GRACE).unwrap_or(DEFAULT_GRACE),
        };
        if variables.problems.is_empty() {
            Ok(settings)
        } else {
            Err(SettingsError(variables.problems))
        }
    }
}

impl Settings {
    /// Where the termination message goes; nowhere if `None`. Known whatever is wrong with the rest.
    #[must_use]
    pub fn termination_message(lookup: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let given = lookup(variable::TERMINATION_MESSAGE).filter(|path| !path.is_empty());
        given.map(PathBuf::from).or_else(|| {
            let default = Path::new(DEFAULT_TERMINATION_MESSAGE);
            default.exists().then(|| default.to_owned())
        })
    }
}

/// The variables, and what was wrong with those that were asked for.
struct Variables<L> {
    lookup: L,
    problems: Vec<String>,
}

impl<L: Fn(&str) -> Option<OsString>> Variables<L> {
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    fn required_path(&mut self, name: &str, meaning: &str) -> PathBuf {
        self.path(name).unwrap_or_else(|| {
            self.problems
                .push(format!("Cannot use {name}: it is not set. Set it to {meaning}."));
            PathBuf::new()
        })
    }

    fn address(&mut self, name: &str, default: SocketAddr) -> SocketAddr {
        self.parsed(name, "an address with a port, such as [::]:8443", |text| {
            text.parse().ok()
        })
        .unwrap_or(default)
    }

    /// Whoever reaches this address needs no token.
    fn loopback(&mut self, name: &str, default: SocketAddr) -> SocketAddr {
        let kind = "a loopback address with a port, such as 127.0.0.1:8080";
        let parse = |text: &str| {
            text.parse()
                .ok()
                .filter(|address: &SocketAddr| address.ip().is_loopback())
        };
        self.parsed(name, kind, parse).unwrap_or(default)
    }

    fn duration(&mut self, name: &str) -> Option<Duration> {
        self.parsed(
            name,
            "a number of seconds or a duration, such as 30 or 2m",
            seconds_or_span,
        )
    }

    fn startup_budget(&mut self) -> Option<Duration> {
        let kind = "a number of whole seconds from 1 to 86400";
        self.parsed(variable::STARTUP_BUDGET, kind, |text| {
            let budget = Duration::from_secs(text.parse().ok()?);
            (!budget.is_zero() && budget <= MAX_STARTUP_BUDGET).then_some(budget)
        })
    }

    fn parsed<T>(&mut self, name: &str, kind: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = self.value(name)?;
        let parsed = value.to_str().and_then(|text| parse(text.trim()));
        if parsed.is_none() {
            let shown = value.to_string_lossy();
            self.problems
                .push(format!("Cannot use {name}={shown}. Set it to {kind}."));
        }
        parsed
    }

    fn value(&self, name: &str) -> Option<OsString> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }
}

/// Plain seconds, or a duration with units.
fn seconds_or_span(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| text.parse().ok().map(TimeSpan::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_variables(|name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn little_has_to_be_said() {
        let settings = settings(&[(variable::RUN_SECRETS, "/run/secrets")]).unwrap();
        assert_eq!(settings.secrets, Path::new("/run/secrets"));
        assert_eq!(settings.run_file, Path::new(DEFAULT_RUN_FILE));
        assert_eq!(settings.listen.to_string(), "[::]:8443");
        assert_eq!(settings.local_listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.registration_timeout, Duration::from_secs(30));
        assert_eq!(settings.startup_budget, None);
    }

    #[test]
    fn a_time_is_plain_seconds_or_a_duration() {
        for (text, expected) in [("45", 45), ("2m", 120), (" 1h30m ", 5400)] {
            let settings = settings(&[
                (variable::RUN_SECRETS, "/s"),
                (variable::REGISTRATION_TIMEOUT, text),
            ])
            .unwrap();
            assert_eq!(
                settings.registration_timeout,
                Duration::from_secs(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let error = settings(&[
            (variable::LISTEN, "8443"),
            (variable::LOCAL_LISTEN, "0.0.0.0:8080"),
            (variable::REGISTRATION_TIMEOUT, "soon"),
            (variable::STARTUP_BUDGET, "86401"),
            (variable::GRACE, "-1"),
        ])
        .unwrap_err();
        insta::assert_snapshot!(error.to_string());
    }
}
