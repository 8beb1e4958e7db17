//! A worker of `reprise run --workers`: the same worker as in a pod, as a child of the process that runs the job.

use std::io::{Read, stdin};
use std::process::{self, ExitCode};
use std::thread;

use reprise_worker::member::{self, Exit};

/// Lives as a worker, until it is released or its parent is gone.
pub(crate) fn run() -> ExitCode {
    thread::spawn(end_with_parent);
    member::main().into()
}

/// The parent holds the other end of standard input, and writes nothing.
fn end_with_parent() {
    let mut buffer = [0; 64];
    while matches!(stdin().read(&mut buffer), Ok(1..)) {}
    process::exit(i32::from(Exit::ManagerGone as u8));
}
