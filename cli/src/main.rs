//! `reprise`: replay published and recorded LLM traffic against a serving endpoint.
//!
//! The same `ReplayJob` that a cluster runs, on one machine: in one process, or in as many as it takes.

mod args;
mod cache;
mod dataset;
mod demo;
mod exit;
mod explain;
mod fetch;
mod formats;
mod inspect;
mod interrupt;
mod logging;
mod output;
mod pin;
mod progress;
mod publish_check;
mod run;
mod terminal;
mod worker_process;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command, PeoplesCommand};
use exit::{Done, Failure};

fn main() -> ExitCode {
    match Arguments::parse().command {
        // It logs as a worker does.
        Command::WorkerProcess => worker_process::run(),
        Command::OfPeople(command) => exit::code(logging::start().and_then(|()| carry_out(&command))),
    }
}

fn carry_out(command: &PeoplesCommand) -> Result<Done, Failure> {
    match command {
        PeoplesCommand::Run(arguments) => run::run(arguments),
        PeoplesCommand::Demo(arguments) => demo::demo(arguments),
        PeoplesCommand::Inspect(arguments) => inspect::inspect(arguments),
        PeoplesCommand::Pin(arguments) => pin::pin(arguments),
        PeoplesCommand::Fetch(arguments) => fetch::fetch(arguments),
        PeoplesCommand::PublishCheck(arguments) => publish_check::publish_check(arguments),
        PeoplesCommand::Explain(arguments) => explain::explain(arguments),
        PeoplesCommand::Formats(arguments) => formats::formats(arguments),
        PeoplesCommand::Cache(arguments) => cache::cache(arguments),
    }
}
