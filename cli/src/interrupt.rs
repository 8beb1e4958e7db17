//! Ctrl-C: the first ends what is going on cleanly, the second at once.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use reprise_worker::Control;
use tokio_util::sync::CancellationToken;

/// The exit code of a process that was ended by Ctrl-C at once.
const KILLED_BY_INTERRUPT: i32 = 130;

/// Whether somebody asked this process to end.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    cancel: CancellationToken,
    control: Control,
    /// What goes when the process ends at once.
    scratch: Arc<Mutex<Option<PathBuf>>>,
}

impl Interrupt {
    /// Listens for Ctrl-C and for the signal that asks a process to end.
    pub(crate) fn listen() -> Result<Self, ctrlc::Error> {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        ctrlc::set_handler(move || {
            if heard.cancel.is_cancelled() {
                heard.remove_scratch();
                process::exit(KILLED_BY_INTERRUPT);
            }
            eprintln!("Ending; what was measured so far is reported. Press Ctrl-C again to end at once.");
            heard.cancel.cancel();
            heard.control.cancel();
        })?;
        Ok(interrupt)
    }

    /// Names the folder that must not stay behind when the process ends at once.
    pub(crate) fn owns_scratch(&self, folder: &Path) {
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    }

    fn remove_scratch(&self) {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = scratch.map(std::fs::remove_dir_all) {
            eprintln!("The folder of the unfinished content stays behind: {error}.");
        }
    }

    /// Ends what is going on before a replay begins.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The control of the replay that an interrupt cancels.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }
}
