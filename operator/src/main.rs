//! The operator of Reprise.
//!
//! It will reconcile `ReplayJob` and `ReplaySweep`: dereference, validate, pin, render a JobSet, apply it, observe it and
//! report on status. It never touches a byte of trace data. `reprise run` runs the same `ReplayJob` on one machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("reprise-operator: not built yet");
    ExitCode::FAILURE
}
