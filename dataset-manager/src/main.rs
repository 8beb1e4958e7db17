//! The process in the dataset-manager pod.
//!
//! It prepares a run (fetches, verifies and builds the dataset), hands out shards to the workers, agrees with them on T0,
//! gathers their outcomes, and publishes the result. It is told what to do by a run file and its environment alone, and
//! leaves a termination message and one of the exit codes of [`Exit`](reprise_dataset_manager::exit::Exit). It never talks
//! to the Kubernetes API.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use reprise_contract::termination::{Process, Reason, TerminationMessage};
use reprise_dataset_manager::exit::Exit;
use reprise_dataset_manager::life::live;
use reprise_dataset_manager::run_file::Run;
use reprise_dataset_manager::settings::Settings;
use reprise_dataset_manager::{open_files, termination};
use reprise_identity::ManagerSecrets;
use tracing_subscriber::EnvFilter;

/// What is logged, on standard error.
const LOG: &str = "REPRISE_LOG";
/// How long threads that are still busy are waited for at the end.
const LAST_WORK: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let settings = Settings::from_variables(|name| env::var_os(name));
    let path = Settings::termination_message(|name| env::var_os(name));
    let ended = start_logging().and_then(|()| run(&settings?));
    let message = ended.unwrap_or_else(|error| wrong(error.as_ref()));
    leave(&message, path.as_deref());
    Exit::of(message.reason).into()
}

fn start_logging() -> Result<(), Box<dyn Error>> {
    let filter = env::var(LOG).unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| format!("Cannot use {LOG}={filter}: {error}. Write warn, info or debug."))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}

/// `Err`: settings, run file or secrets cannot be used.
fn run(settings: &Settings) -> Result<TerminationMessage, Box<dyn Error>> {
    let run = Run::read(&settings.run_file)?;
    let secrets = ManagerSecrets::read(&settings.secrets)?;
    open_files::raise_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let message = runtime.block_on(live(settings, &run, &secrets));
    // A download or a name look-up may still be under way. Nothing waits for it.
    runtime.shutdown_timeout(LAST_WORK);
    Ok(message)
}

fn wrong(error: &dyn Error) -> TerminationMessage {
    TerminationMessage::new(Process::DatasetManager, Reason::WrongSettings, error.to_string())
}

/// Leaves the message where Kubernetes reads it, and on standard error for people.
fn leave(message: &TerminationMessage, path: Option<&Path>) {
    eprintln!("{}", message.message);
    if let Some(path) = path
        && let Err(error) = termination::write(path, message)
    {
        eprintln!(
            "Cannot write the termination message to {}: {error}. Set REPRISE_TERMINATION_MESSAGE to a file that is writable.",
            path.display()
        );
    }
}
