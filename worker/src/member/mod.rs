//! A worker among many: the worker's side of the protocol between a run's dataset-manager and its workers.
//!
//! Its life: measure what it can do, join, fetch its shard, get ready, agree on T0, replay, deliver every outcome, and go home
//! when the manager says so. `docs/protocol.md` describes the calls, [`Settings`] the environment, [`Exit`] the exit codes.

mod arming;
mod backoff;
mod chance;
mod client;
mod clock;
mod delivery;
mod early;
mod events;
mod exit;
mod fate;
mod joining;
mod life;
mod loading;
mod logging;
mod orders;
mod replaying;
mod scratch;
mod settings;
mod signals;
mod stopping;

use std::env;
use std::fs;
use std::time::Duration;

use reprise_contract::protocol::Release;

pub use client::{CallError, ClientError};
pub use exit::{Delivered, Exit, Failure};
pub use scratch::ScratchError;
pub use settings::{Problem, Problems, Settings, variable};

use events::{Event, tell};

/// How long what still runs may take to end when the worker does.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A worker as a process: settings from its environment, logs on standard error, last words as its termination message.
#[must_use]
pub fn main() -> Exit {
    if let Err(problem) = logging::start() {
        eprintln!("{problem}");
        return Exit::WrongSettings;
    }
    match Settings::from_variables(|name| env::var_os(name)) {
        Ok(settings) => run(&settings),
        Err(problems) => {
            let failure = Failure::Settings(problems);
            eprintln!("{failure}");
            // Where to leave them may be among what is wrong; the usual place is tried.
            let place = settings::termination_message(&|name| env::var_os(name));
            leave_last_words(place.as_deref(), &Err(failure))
        }
    }
}

/// Lives the whole life of a worker. Blocks; hears SIGTERM and SIGINT from then on.
#[must_use]
pub fn run(settings: &Settings) -> Exit {
    let end = live(settings);
    if let Err(failure) = &end {
        tell(&Event::Ended { failure });
    }
    leave_last_words(settings.termination_message.as_deref(), &end)
}

fn live(settings: &Settings) -> Result<Release, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let end = runtime.block_on(life::live(settings));
    runtime.shutdown_timeout(LAST_MOMENT);
    end
}

fn leave_last_words(place: Option<&std::path::Path>, end: &Result<Release, Failure>) -> Exit {
    if let Some(path) = place {
        let words = exit::last_words(end).to_json().map_err(|error| error.to_string());
        let written = words.and_then(|words| fs::write(path, words).map_err(|error| error.to_string()));
        if let Err(why) = written {
            tell(&Event::NoLastWords { path, why });
        }
    }
    end.as_ref().map_or_else(Failure::exit, |_| Exit::Released)
}
