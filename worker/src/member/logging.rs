//! Logs, on standard error: what happens to the worker, or what `REPRISE_LOG` asks for.

use std::env::{VarError, var};
use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::EnvFilter;

const VARIABLE: &str = "REPRISE_LOG";

/// A variable that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("Cannot use {VARIABLE}: {0}. Write warn, info or debug.")]
pub(super) struct LogError(String);

/// Starts logging.
///
/// # Errors
/// When `REPRISE_LOG` is no filter.
pub(super) fn start() -> Result<(), LogError> {
    let filter = match var(VARIABLE) {
        Ok(filter) => filter,
        Err(VarError::NotPresent) => "info".to_owned(),
        Err(error) => return Err(LogError(error.to_string())),
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| LogError(format!("{filter:?}: {error}")))?;
    // Whoever has set up logs before keeps its own.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .try_init();
    Ok(())
}
