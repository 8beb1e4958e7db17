//! What a worker is told by its environment.

use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use reprise_contract::protocol::Incarnation;
use reprise_identity::{KeyError, random_incarnation};
use url::Url;

/// Names of the variables.
pub mod variable {
    /// Where the dataset-manager is: `https://host:port`.
    pub const MANAGER_URL: &str = "REPRISE_MANAGER_URL";
    /// Folder with `ca.crt` and `worker-token`.
    pub const RUN_SECRETS: &str = "REPRISE_RUN_SECRETS";
    /// The worker's index, from 0.
    pub const WORKER_INDEX: &str = "REPRISE_WORKER_INDEX";
    /// The same, as an Indexed Job sets it.
    pub const JOB_COMPLETION_INDEX: &str = "JOB_COMPLETION_INDEX";
    /// This life of the worker: its pod's UID. Random by default.
    pub const INCARNATION: &str = "REPRISE_INCARNATION";
    /// Threads that send. As many as there are cores by default.
    pub const THREADS: &str = "REPRISE_THREADS";
    /// Folder for the shard, and for outcomes that wait for the manager. A temporary one by default.
    pub const SCRATCH: &str = "REPRISE_SCRATCH";
    /// How long to wait for the manager beyond its startup budget. 30 s by default.
    pub const REGISTRATION_TIMEOUT: &str = "REPRISE_REGISTRATION_TIMEOUT";
    /// How long the manager may take to prepare the plan, in seconds. 3600 by default, 86400 at most.
    pub const STARTUP_BUDGET: &str = "REPRISE_HEALTH_DATASET_DOWNLOAD_STARTUP_BUDGET_SECONDS";
    /// How long an unreachable manager is borne after joining. 5 m by default.
    pub const MANAGER_TIMEOUT: &str = "REPRISE_MANAGER_TIMEOUT";
    /// How long to deliver outcomes after SIGTERM. 30 s by default.
    pub const GRACE: &str = "REPRISE_GRACE";
    /// Where to leave a message about how it ended.
    pub const TERMINATION_MESSAGE: &str = "REPRISE_TERMINATION_MESSAGE";
}

/// Where Kubernetes reads a container's last words, unless told otherwise.
const TERMINATION_LOG: &str = "/dev/termination-log";
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);
const MANAGER_TIMEOUT: Duration = Duration::from_mins(5);
const GRACE: Duration = Duration::from_secs(30);
const STARTUP_BUDGET_S: u64 = 3_600;
const MAX_STARTUP_BUDGET_S: u64 = 86_400;
/// The longest duration that a variable may give.
const MAX_DURATION: Duration = Duration::from_hours(24);
/// Threads, at most. More than any machine has cores.
const MAX_THREADS: usize = 1_024;

/// What a worker is told by its environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the dataset-manager is; `https`, with no path.
    pub manager: Url,
    /// Folder with `ca.crt` and `worker-token`.
    pub secrets: PathBuf,
    /// The worker's index, from 0.
    pub index: u32,
    /// This life of the worker.
    pub incarnation: Incarnation,
    /// Threads that send.
    pub threads: NonZeroUsize,
    /// Folder for the shard and for waiting outcomes; `None`: a temporary one.
    pub scratch: Option<PathBuf>,
    /// How long to try to join.
    pub join_within: Duration,
    /// How long an unreachable manager is borne after joining.
    pub manager_timeout: Duration,
    /// How long to deliver outcomes after SIGTERM.
    pub grace: Duration,
    /// Where to leave a message about how it ended.
    pub termination_message: Option<PathBuf>,
}

/// One thing that is wrong with the environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not there.
    #[error("Cannot start a worker: {variable} is not set. Set it to {wanted}.")]
    Missing {
        /// The variable.
        variable: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// There, and no use.
    #[error("Cannot use {variable}: {value:?} is not {wanted}. Set it to {example}.")]
    Unusable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        wanted: &'static str,
        /// For example.
        example: &'static str,
    },
    /// No name for this life.
    #[error(transparent)]
    Random(#[from] KeyError),
}

/// All that is wrong with the environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl Settings {
    /// Reads the settings of an environment, given as a function from a variable's name to its value. Empty values count as
    /// absent.
    ///
    /// # Errors
    /// All that is wrong, at once.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Problems> {
        let mut read = Reading {
            lookup,
            problems: Vec::new(),
        };
        let manager = read.manager();
        let secrets = read.required(variable::RUN_SECRETS, "the folder with ca.crt and worker-token");
        let index = read.index();
        let incarnation = read.incarnation();
        let threads = read.threads();
        let registration = read.duration(variable::REGISTRATION_TIMEOUT, REGISTRATION_TIMEOUT);
        let budget = read.startup_budget();
        let manager_timeout = read.duration(variable::MANAGER_TIMEOUT, MANAGER_TIMEOUT);
        let grace = read.duration(variable::GRACE, GRACE);
        let scratch = read.path(variable::SCRATCH);
        let termination_message = termination_message(&read.lookup);
        match (manager, secrets, index, incarnation) {
            (Some(manager), Some(secrets), Some(index), Some(incarnation)) if read.problems.is_empty() => {
                Ok(Self {
                    manager,
                    secrets: PathBuf::from(secrets),
                    index,
                    incarnation,
                    threads,
                    scratch,
                    join_within: budget + registration,
                    manager_timeout,
                    grace,
                    termination_message,
                })
            }
            _ => Err(Problems(read.problems)),
        }
    }
}

/// Where to leave a message about how the worker ended.
pub(super) fn termination_message(lookup: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let usual = || {
        let log = PathBuf::from(TERMINATION_LOG);
        log.exists().then_some(log)
    };
    let value = lookup(variable::TERMINATION_MESSAGE).filter(|value| !value.is_empty());
    value.map(PathBuf::from).or_else(usual)
}

struct Reading<F> {
    lookup: F,
    problems: Vec<Problem>,
}

impl<F: Fn(&str) -> Option<OsString>> Reading<F> {
    fn value(&self, variable: &str) -> Option<OsString> {
        (self.lookup)(variable).filter(|value| !value.is_empty())
    }

    /// A value as text; one that is no UTF-8 becomes what no reading accepts.
    fn text(&self, variable: &str) -> Option<String> {
        self.value(variable)
            .map(|value| value.to_string_lossy().into_owned())
    }

    fn path(&self, variable: &str) -> Option<PathBuf> {
        self.value(variable).map(PathBuf::from)
    }

    fn required(&mut self, variable: &'static str, wanted: &'static str) -> Option<OsString> {
        let value = self.value(variable);
        if value.is_none() {
            self.problems.push(Problem::Missing { variable, wanted });
        }
        value
    }

    fn unusable(
        &mut self,
        variable: &'static str,
        value: String,
        wanted: &'static str,
        example: &'static str,
    ) {
        self.problems.push(Problem::Unusable {
            variable,
            value,
            wanted,
            example,
        });
    }

    fn manager(&mut self) -> Option<Url> {
        const WANTED: &str = "the dataset-manager's address, https://host:port";
        let value = self.required(variable::MANAGER_URL, WANTED)?;
        let value = value.to_string_lossy().into_owned();
        let url = Url::parse(&value).ok().filter(|url| {
            let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            let is_anonymous = url.username().is_empty() && url.password().is_none();
            url.scheme() == "https" && url.has_host() && is_bare && is_anonymous
        });
        if url.is_none() {
            self.unusable(
                variable::MANAGER_URL,
                value,
                "an https address without a path",
                "https://host:port",
            );
        }
        url
    }

    fn index(&mut self) -> Option<u32> {
        let variables = [variable::WORKER_INDEX, variable::JOB_COMPLETION_INDEX];
        let found = variables
            .into_iter()
            .find_map(|variable| Some((variable, self.text(variable)?)));
        let Some((variable, value)) = found else {
            self.problems.push(Problem::Missing {
                variable: variable::WORKER_INDEX,
                wanted: "the worker's index, from 0",
            });
            return None;
        };
        let index = value.parse().ok();
        if index.is_none() {
            self.unusable(variable, value, "an index", "a number from 0");
        }
        index
    }

    fn incarnation(&mut self) -> Option<Incarnation> {
        let Some(name) = self.text(variable::INCARNATION) else {
            return random_incarnation()
                .map_err(|error| self.problems.push(Problem::Random(error)))
                .ok();
        };
        let incarnation = Incarnation::try_from(name.clone()).ok();
        if incarnation.is_none() {
            self.unusable(
                variable::INCARNATION,
                name,
                "1 to 64 letters, digits, '-', '_' or '.'",
                "the pod's UID",
            );
        }
        incarnation
    }

    fn threads(&mut self) -> NonZeroUsize {
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let Some(value) = self.text(variable::THREADS) else {
            return cores;
        };
        let threads = value
            .parse()
            .ok()
            .filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS);
        threads.unwrap_or_else(|| {
            self.unusable(
                variable::THREADS,
                value,
                "a number from 1 to 1024",
                "the cores that it may use",
            );
            cores
        })
    }

    fn startup_budget(&mut self) -> Duration {
        let Some(value) = self.text(variable::STARTUP_BUDGET) else {
            return Duration::from_secs(STARTUP_BUDGET_S);
        };
        let seconds = value
            .parse()
            .ok()
            .filter(|seconds| (1..=MAX_STARTUP_BUDGET_S).contains(seconds));
        if seconds.is_none() {
            self.unusable(
                variable::STARTUP_BUDGET,
                value,
                "a number of seconds from 1 to 86400",
                "3600",
            );
        }
        Duration::from_secs(seconds.unwrap_or(STARTUP_BUDGET_S))
    }

    fn duration(&mut self, variable: &'static str, default: Duration) -> Duration {
        let Some(value) = self.text(variable) else {
            return default;
        };
        parse_duration(&value).unwrap_or_else(|| {
            self.unusable(
                variable,
                value,
                "a duration of at most 24h",
                "a whole number with a unit, such as 500ms, 30s or 5m",
            );
            default
        })
    }
}

/// A whole number and its unit (ms, s, m, h; seconds without one, as the manager takes it too), above zero and at most a day.
fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = split.map_or((text, "s"), |split| text.split_at(split));
    let number: u64 = number.parse().ok()?;
    let duration = match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        "h" => Duration::from_secs(number.checked_mul(3_600)?),
        _ => return None,
    };
    (!duration.is_zero() && duration <= MAX_DURATION).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Problems> {
        Settings::from_variables(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    const FEWEST: [(&str, &str); 3] = [
        (variable::MANAGER_URL, "https://manager.ns.svc:8443"),
        (variable::RUN_SECRETS, "/secrets"),
        (variable::JOB_COMPLETION_INDEX, "3"),
    ];

    fn with(more: &[(&'static str, &'static str)]) -> Result<Settings, Problems> {
        read(&[more, &FEWEST].concat())
    }

    #[test]
    fn three_variables_are_enough() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.manager.as_str(), "https://manager.ns.svc:8443/");
        assert_eq!(settings.index, 3);
        assert_eq!(settings.join_within, Duration::from_secs(3_630));
        assert_eq!(settings.manager_timeout, Duration::from_mins(5));
        assert_eq!(settings.scratch, None);
        assert_ne!(
            settings.incarnation,
            with(&[]).unwrap().incarnation,
            "each life is another"
        );
    }

    #[test]
    fn what_is_set_holds() {
        let settings = with(&[
            (variable::WORKER_INDEX, "7"),
            (variable::INCARNATION, "pod-1"),
            (variable::THREADS, "2"),
            (variable::STARTUP_BUDGET, "60"),
            (variable::REGISTRATION_TIMEOUT, "2m"),
            (variable::MANAGER_TIMEOUT, "1500ms"),
            (variable::GRACE, "3600"),
            (variable::SCRATCH, "/scratch"),
            (variable::TERMINATION_MESSAGE, "/message"),
        ])
        .unwrap();
        assert_eq!(settings.index, 7);
        assert_eq!(settings.incarnation.to_string(), "pod-1");
        assert_eq!(settings.threads.get(), 2);
        assert_eq!(settings.join_within, Duration::from_mins(3));
        assert_eq!(settings.manager_timeout, Duration::from_millis(1_500));
        assert_eq!(settings.grace, Duration::from_hours(1));
        assert_eq!(settings.scratch, Some(PathBuf::from("/scratch")));
        assert_eq!(settings.termination_message, Some(PathBuf::from("/message")));
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let problems = read(&[
            (variable::MANAGER_URL, "http://manager:80"),
            (variable::WORKER_INDEX, "-1"),
            (variable::INCARNATION, "pod 1"),
            (variable::THREADS, "0"),
            (variable::STARTUP_BUDGET, "86401"),
            (variable::MANAGER_TIMEOUT, "5x"),
            (variable::GRACE, "0s"),
            (variable::REGISTRATION_TIMEOUT, "25h"),
        ])
        .unwrap_err();
        insta::assert_snapshot!(problems);
    }

    #[test]
    fn an_empty_environment_names_what_is_needed() {
        insta::assert_snapshot!(read(&[(variable::MANAGER_URL, "")]).unwrap_err());
    }

    #[test]
    fn an_address_is_one_of_a_server_and_no_more() {
        for url in [
            "manager:8443",
            "https://m/path",
            "https://m/?a=b",
            "https://user:secret@m:1",
            "https://m/#x",
        ] {
            let problems = read(&[&[(variable::MANAGER_URL, url)], &FEWEST[1..]].concat()).unwrap_err();
            assert_eq!(problems.0.len(), 1, "{url}");
        }
    }
}
