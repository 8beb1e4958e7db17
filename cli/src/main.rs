//! `reprise`: replay published and recorded LLM traffic against a serving endpoint.
//!
//! The same `ReplayJob` that a cluster runs, on one machine and in one process.

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

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(failure) = logging::start() {
        return exit::code(Err(failure));
    }
    let result = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Pin(arguments) => pin::pin(&arguments),
        Command::Fetch(arguments) => fetch::fetch(&arguments),
        Command::PublishCheck(arguments) => publish_check::publish_check(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Formats(arguments) => formats::formats(&arguments),
        Command::Cache(arguments) => cache::cache(&arguments),
    };
    exit::code(result)
}
