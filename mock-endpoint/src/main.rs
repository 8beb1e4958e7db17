//! The mock endpoint as a program.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use http::HeaderName;
use reprise_mock_endpoint::{ArrivalLog, Config, ErrorStatus, Latency, RandomErrors, Share, runtime, start};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// An OpenAI-compatible endpoint of known latency, for demos, tests and calibration.
///
/// It prints one line when it is ready, "mock-endpoint listening on http://ADDRESS:PORT", and runs until SIGINT or SIGTERM.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
#[command(
    after_help = "Latencies are written as 20ms, uniform:10ms..30ms, exponential:20ms (mean), \
    lognormal:20ms,sigma=0.5 or lognormal:20ms,p99=80ms (median first). Units: ns, us, ms, s, m.\n\n\
    Single requests ask for trouble by header: x-mock-status: 429, x-mock-disconnect-after: 3 (chunks), \
    x-mock-stream-error-after: 2 (chunks), x-mock-finish-early: 10 (tokens)."
)]
struct Arguments {
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on; 0 picks a free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Threads to serve with; with 1, the endpoint stays on one core.
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN)]
    threads: NonZeroUsize,
    /// Model to announce, and to answer with where a request names none. Every model is accepted.
    #[arg(long, value_name = "NAME", default_value = "mock-model")]
    model: String,
    /// Time from a request's arrival to its first token.
    #[arg(long, value_name = "LATENCY", default_value = "0")]
    ttft: Latency,
    /// Time from one token to the next.
    #[arg(long, value_name = "LATENCY", default_value = "0")]
    itl: Latency,
    /// Tokens of an answer whose request sets no length.
    #[arg(long, value_name = "N", default_value = "16")]
    default_tokens: NonZeroU32,
    /// Tokens that come in one chunk of a stream.
    #[arg(long, value_name = "N", default_value = "1")]
    tokens_per_chunk: NonZeroU32,
    /// Requests worked on at a time, others wait in order of arrival [default: no limit]
    #[arg(long, value_name = "N")]
    capacity: Option<NonZeroU32>,
    /// Share of the requests that are answered with an error, from 0 to 1.
    #[arg(long, value_name = "SHARE")]
    error_rate: Option<Share>,
    /// Status of these errors.
    #[arg(long, value_name = "STATUS", default_value = "503", requires = "error_rate")]
    error_status: ErrorStatus,
    /// Seed of all that is drawn. Same seed and same order of requests, same latencies and errors.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write arrivals to this file as JSON lines. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Keep arrivals in memory for GET /mock/arrivals.
    #[arg(long)]
    keep_arrivals: bool,
    /// Log the SHA-256 of each body.
    #[arg(long)]
    log_digests: bool,
    /// Log the bodies themselves.
    #[arg(long)]
    log_bodies: bool,
    /// Log this request header; may be given more than once. x-request-id is always logged.
    #[arg(long, value_name = "NAME")]
    log_header: Vec<HeaderName>,
}

impl Arguments {
    fn into_config(self) -> Config {
        Config {
            listen: SocketAddr::new(self.host, self.port),
            model: self.model,
            ttft: self.ttft,
            inter_token_latency: self.itl,
            default_tokens: self.default_tokens,
            tokens_per_chunk: self.tokens_per_chunk,
            capacity: self.capacity,
            errors: self.error_rate.map(|share| RandomErrors {
                share,
                status: self.error_status,
            }),
            seed: self.seed,
            arrivals: ArrivalLog {
                in_memory: self.keep_arrivals,
                file: self.log,
                digests: self.log_digests,
                bodies: self.log_bodies,
                headers: self.log_header,
            },
        }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    allow_many_connections().context("Cannot raise the limit of open files")?;
    let runtime = runtime(arguments.threads).context("Cannot start a runtime")?;
    runtime.block_on(run(arguments.into_config()))
}

/// Raises the soft limit of open files, often 1024, to the hard one: each connection takes a file descriptor.
fn allow_many_connections() -> rustix::io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
}

async fn run(config: Config) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("Cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("Cannot listen for SIGTERM")?;
    let mut handle = start(config).await?;
    let mut out = std::io::stdout();
    writeln!(out, "mock-endpoint listening on {}", handle.url())?;
    out.flush()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        broken = handle.broken() => return Ok(broken?),
    }
    Ok(handle.shutdown().await?)
}
