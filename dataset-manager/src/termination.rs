//! Writes the termination message where Kubernetes, or whoever plays it, reads it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use reprise_contract::termination::TerminationMessage;

/// Writes the message to `path`, in place: the file is mounted, so it cannot be replaced by another.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, message: &TerminationMessage) -> io::Result<()> {
    let json = message.to_json()?;
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(path)?;
    file.write_all(json.as_bytes())
}
