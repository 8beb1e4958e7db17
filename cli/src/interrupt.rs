//! Ctrl-C: the first ends what is going on cleanly, the second at once.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reprise_worker::Control;

/// The exit code of a process that was ended by Ctrl-C at once.
const KILLED_BY_INTERRUPT: i32 = 130;

/// Whether somebody asked this process to end.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    is_set: Arc<AtomicBool>,
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
            if heard.is_set.swap(true, Ordering::Relaxed) {
                heard.remove_scratch();
                process::exit(KILLED_BY_INTERRUPT);
            }
            eprintln!("Ending; what was measured so far is reported. Press Ctrl-C again to end at once.");
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

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// The control of the replay that an interrupt cancels.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }
}
