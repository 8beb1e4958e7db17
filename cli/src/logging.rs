//! Logs, on standard error: warnings, or what `REPRISE_LOG` asks for.

use tracing_subscriber::EnvFilter;

/// Starts logging.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_env("REPRISE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
