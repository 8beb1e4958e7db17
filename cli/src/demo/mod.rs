//! `reprise demo`: a replay with everything it needs, on this machine.

mod trace_server;

use std::path::PathBuf;

use reprise_contract::summary::Verdict;
use reprise_crds::document::{self, Overrides};
use reprise_mock_endpoint::{ArrivalLog, Config, start_on_own_thread};

use crate::args::{DemoArguments, OutputArguments};
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::print;
use crate::run::run_document;
use trace_server::TraceServer;

const JOB: &str = include_str!("../../../deploy/examples/demo.yaml");
const TRACE: &[u8] = include_bytes!("../../../deploy/examples/demo-trace.jsonl.gz");

/// What the mock endpoint takes to its first token, and between two.
const TTFT: &str = "lognormal:40ms,sigma=0.4";
const INTER_TOKEN_LATENCY: &str = "5ms";

/// Starts a mock endpoint and a server for a small trace, and replays the one against the other.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<Done, Failure> {
    let interrupt = Interrupt::listen()?;
    let endpoint = start_on_own_thread(Config {
        ttft: TTFT.parse()?,
        inter_token_latency: INTER_TOKEN_LATENCY.parse()?,
        arrivals: ArrivalLog {
            in_memory: false,
            ..ArrivalLog::default()
        },
        ..Config::default()
    })?;
    let traces = TraceServer::start("demo-trace.jsonl.gz", TRACE)?;
    let settings = [
        format!("dataset.source={}", traces.url()),
        format!("target.urls=[\"{}\"]", endpoint.url()),
    ];
    print(&format!(
        "A mock endpoint answers at {} (TTFT {TTFT}, {INTER_TOKEN_LATENCY} a token), and {} serves a minute of a published\n\
         trace. deploy/examples/demo.yaml replays it six times as fast, with these two addresses set:\n\n",
        endpoint.url(),
        traces.url(),
    ))?;
    let document = document::read(JOB, &Overrides::parse(&settings).map_err(Failure::input)?)
        .map_err(|problems| Failure::input(problems.in_file("deploy/examples/demo.yaml")))?;
    let output = OutputArguments {
        output: arguments.output.clone(),
        ..OutputArguments::default()
    };
    let done = run_document(&document, None, &output, &interrupt)?;
    endpoint.shutdown()?;
    if let Done::Replayed(Verdict::Succeeded) = done {
        print(&what_next(arguments.output.as_ref()))?;
    }
    Ok(done)
}

fn what_next(output: Option<&PathBuf>) -> String {
    let folder = output.map_or_else(
        || "the folder above".to_owned(),
        |folder| folder.display().to_string(),
    );
    format!(
        "\nOpen report.html in {folder}. Then try your own endpoint and trace:\n\n  \
         reprise inspect trace.jsonl\n  \
         reprise run --source trace.jsonl --format mooncake_trace --target http://localhost:8000 --model my-model\n  \
         reprise explain spec.replay\n"
    )
}
