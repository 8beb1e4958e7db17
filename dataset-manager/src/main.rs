//! The process in the dataset-manager pod.
//!
//! It will prepare a run (fetch, verify and build the dataset), hand out shards to the workers, agree with them on T0,
//! gather their outcomes, and publish the results. It never talks to the Kubernetes API. `reprise run` does the same
//! work on one machine, in one process.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("reprise-dataset-manager: not built yet");
    ExitCode::FAILURE
}
