//! Logs, on standard error: warnings, or what `REPRISE_LOG` asks for.

use std::env::{VarError, var};

use tracing_subscriber::EnvFilter;

use crate::exit::Failure;

/// Says what is logged.
pub(crate) const VARIABLE: &str = "REPRISE_LOG";
/// What is logged unless it says otherwise.
pub(crate) const USUAL: &str = "warn";

/// Starts logging.
pub(crate) fn start() -> Result<(), Failure> {
    let filter = match var(VARIABLE) {
        Err(VarError::NotPresent) => USUAL.to_owned(),
        Err(error) => {
            return Err(Failure::Input(format!(
                "Cannot use {VARIABLE}: {error}. Write warn, info or debug."
            )));
        }
        Ok(filter) => filter,
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        Failure::Input(format!(
            "Cannot use {VARIABLE}={filter}: {error}. Write warn, info or debug."
        ))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
