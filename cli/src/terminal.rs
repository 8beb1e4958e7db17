//! The terminal that standard output is, if it is one.

use std::io::{IsTerminal, stdout};

/// How many columns it has.
pub(crate) fn width() -> Option<u16> {
    let stdout = stdout();
    if !stdout.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(stdout).ok().map(|size| size.ws_col)
}
