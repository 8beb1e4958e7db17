//! Ctrl-C: the first ends what is going on cleanly, the second at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reprise_worker::Control;

/// The exit code of a process that was ended by Ctrl-C at once.
const KILLED_BY_INTERRUPT: i32 = 130;

/// Whether somebody asked this process to end.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    is_set: Arc<AtomicBool>,
    control: Control,
}

impl Interrupt {
    /// Listens for Ctrl-C and for the signal that asks a process to end.
    pub(crate) fn listen() -> Result<Self, ctrlc::Error> {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        ctrlc::set_handler(move || {
            if heard.is_set.swap(true, Ordering::Relaxed) {
                process::exit(KILLED_BY_INTERRUPT);
            }
            eprintln!("Ending; what was measured so far is reported. Press Ctrl-C again to end at once.");
            heard.control.cancel();
        })?;
        Ok(interrupt)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// The control of the replay that an interrupt cancels.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }
}
