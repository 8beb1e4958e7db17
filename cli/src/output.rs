//! Standard output, which a program at the other end of a pipe may close at any time.

use std::io::{self, Write};

use crate::exit::Failure;

/// Writes to standard output. Whoever has closed it wants no more, which is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(anyhow::anyhow!("Cannot write to standard output: {error}. Check where it goes.").into())
        }
        Ok(()) => Ok(()),
    }
}

/// Writes JSON to standard output, for programs.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
