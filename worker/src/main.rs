//! A worker of a run: the process in a worker pod.

use std::process::ExitCode;

fn main() -> ExitCode {
    reprise_worker::member::main().into()
}
