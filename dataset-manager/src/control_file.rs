//! Commands that come by a file which changes under the process, where no network path exists: a `ConfigMap` that is mounted
//! into the pod.
//!
//! The file holds one [`Command`] as JSON. It may be absent, and may be swapped as a symbolic link or be overwritten in
//! place, so that it is looked at by its content and never by its times.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprise_contract::protocol::{Command, MAX_JSON_BYTES};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{MissedTickBehavior, interval};

/// Between two looks at the file.
const PAUSE: Duration = Duration::from_millis(300);

/// Sends what the file at `path` commands, whenever that changes, until nobody listens any more.
///
/// Never fails: a file that cannot be read or says nothing that is known is named in the log, once, and has no effect.
pub async fn watch(path: PathBuf, commands: UnboundedSender<Command>) {
    let mut file = ControlFile::new(path);
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = commands.closed() => return,
            _ = ticks.tick() => {}
        }
        match file.look() {
            None => {}
            Some(News::Command(command)) => {
                // The receiver may have gone since; then the next turn ends.
                let _ = commands.send(command);
            }
            Some(News::Fault(fault)) => {
                tracing::warn!("Cannot use the control file {}: {fault}", file.path().display());
            }
        }
    }
}

/// What a look at the file brought.
#[derive(Debug)]
enum News {
    /// A command that was not given before.
    Command(Command),
    /// A fault that was not reported before.
    Fault(Fault),
}

/// Why a file is no command.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}. Make it a file that this process may read.")]
    Unreadable(#[source] io::Error),
    #[error("it has more than {MAX_JSON_BYTES} bytes. Write one JSON object with cancel and deadline.")]
    TooLong,
    #[error("it is no command: {0}. Write one JSON object with cancel and deadline.")]
    NoCommand(#[source] serde_json::Error),
    #[error("its deadline is not a time: {0}. Write it like 2026-01-02T03:04:05Z.")]
    Deadline(#[source] jiff::Error),
}

/// The file, and what is known of it.
#[derive(Debug)]
struct ControlFile {
    path: PathBuf,
    /// The last command that was given.
    given: Option<Command>,
    /// What the last look saw, where that was a fault.
    wrong: Option<Wrong>,
}

/// A content or an error that makes no command. One look may fall into the middle of a write, so that a fault is reported when it
/// is seen for the second time.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    seen: Result<Vec<u8>, io::ErrorKind>,
    is_reported: bool,
}

impl ControlFile {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            given: None,
            wrong: None,
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn look(&mut self) -> Option<News> {
        let content = read(&self.path);
        self.judge(content)
    }

    fn judge(&mut self, content: io::Result<Vec<u8>>) -> Option<News> {
        let seen = content.as_ref().map(Clone::clone).map_err(io::Error::kind);
        match parse(content) {
            Ok(command) => {
                self.wrong = None;
                let command = command.filter(|command| self.given.as_ref() != Some(command))?;
                self.given = Some(command.clone());
                Some(News::Command(command))
            }
            Err(fault) => self.fault(seen, fault),
        }
    }

    fn fault(&mut self, seen: Result<Vec<u8>, io::ErrorKind>, fault: Fault) -> Option<News> {
        match &mut self.wrong {
            Some(wrong) if wrong.seen == seen => {
                let is_new = !wrong.is_reported;
                wrong.is_reported = true;
                is_new.then_some(News::Fault(fault))
            }
            _ => {
                self.wrong = Some(Wrong {
                    seen,
                    is_reported: false,
                });
                None
            }
        }
    }
}

/// Not more than one byte beyond what a command may have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let limit = u64::try_from(MAX_JSON_BYTES).unwrap_or(u64::MAX);
    File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}

/// `None` where there is no file, or nothing in it.
fn parse(content: io::Result<Vec<u8>>) -> Result<Option<Command>, Fault> {
    let content = match content {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        content => content.map_err(Fault::Unreadable)?,
    };
    if content.len() > MAX_JSON_BYTES {
        return Err(Fault::TooLong);
    }
    if content.trim_ascii().is_empty() {
        return Ok(None);
    }
    let command: Command = serde_json::from_slice(&content).map_err(Fault::NoCommand)?;
    let deadline = command.deadline.as_deref().map(str::parse::<jiff::Timestamp>);
    deadline.transpose().map_err(Fault::Deadline)?;
    Ok(Some(command))
}

#[cfg(test)]
mod tests;
