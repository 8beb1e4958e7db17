//! The command line.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use reprise_source::ByteSize;

/// The subcommand of a worker process, which only this program itself starts.
pub(crate) const WORKER_PROCESS: &str = "worker-process";
/// Worker processes on one machine, at most.
const MAX_WORKERS: u32 = 256;

/// Replay published and recorded LLM traffic against a serving endpoint.
#[derive(Parser)]
#[command(
    name = "reprise",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// What people ask for.
    #[command(flatten)]
    OfPeople(PeoplesCommand),
    /// A worker of `run --workers`
    #[command(name = WORKER_PROCESS, hide = true)]
    WorkerProcess,
}

#[derive(Subcommand)]
pub(crate) enum PeoplesCommand {
    /// Run a ReplayJob on this machine and report what was measured
    Run(RunArguments),
    /// See it work: replay a small trace against a mock endpoint
    Demo(DemoArguments),
    /// Say what is in a trace
    Inspect(InspectArguments),
    /// Pin a trace: say which version there is, and how to run exactly that again
    Pin(PinArguments),
    /// Download a trace into the cache and verify it
    Fetch(FetchArguments),
    /// Check whether a trace is ready to be run by others
    PublishCheck(PublishCheckArguments),
    /// Explain the fields of a ReplayJob
    Explain(ExplainArguments),
    /// List the trace formats
    Formats(FormatsArguments),
    /// See, clear and check what is kept of S3 and HTTP
    Cache(CacheArguments),
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 the run failed, was cancelled or measured nothing; 2 the input is wrong."
)]
pub(crate) struct RunArguments {
    /// The ReplayJob, a YAML file; `-` reads standard input. Without one, --source and --target make a job
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) job: JobArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Share the load among so many worker processes, or as many as it takes (auto) [default: this process sends]
    #[arg(long, value_name = "COUNT|auto")]
    pub(crate) workers: Option<Workers>,
}

/// How many worker processes share the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// So many.
    Count(NonZeroU32),
    /// As many as it takes.
    Auto,
}

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = || {
            text.parse()
                .ok()
                .filter(|count: &NonZeroU32| count.get() <= MAX_WORKERS)
        };
        match text {
            "auto" => Ok(Self::Auto),
            _ => count()
                .map(Self::Count)
                .ok_or_else(|| format!("write a number from 1 to {MAX_WORKERS}, or auto")),
        }
    }
}

/// What a job says, on the command line.
#[derive(Args, Default)]
pub(crate) struct JobArguments {
    /// The trace: hf://, s3://, https://, or a path (spec.dataset.source)
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) source: Option<String>,

    /// Where requests go; may be repeated (spec.target.urls)
    #[arg(long, value_name = "URL")]
    pub(crate) target: Vec<String>,

    /// The trace format (spec.dataset.format)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,

    /// The model of synthesised bodies (spec.target.model)
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Set any field, such as replay.speed=2; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

impl JobArguments {
    /// Whether none of them was given.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            source,
            target,
            format,
            model,
            set,
        } = self;
        source.is_none() && target.is_empty() && format.is_none() && model.is_none() && set.is_empty()
    }
}

/// What becomes of the result.
#[derive(Args, Default)]
pub(crate) struct OutputArguments {
    /// The folder for results [default: reprise-results/NAME-TIME]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,

    /// Print the summary as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Threads that send; with --workers, those of each [default: one a core, shared out]
    #[arg(long, value_name = "COUNT")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Args)]
pub(crate) struct DemoArguments {
    /// The folder for results [default: reprise-results/NAME-TIME]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// A trace on its own, without a job.
#[derive(Args)]
pub(crate) struct DatasetArguments {
    /// The trace: hf://, s3://, https://, or a path
    #[arg(value_name = "REFERENCE")]
    pub(crate) source: String,

    /// The trace format [default: declared by its manifest, or told by the first record of a local file]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,

    /// Set a field under dataset, such as dataset.options.blockSize=16; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    pub(crate) dataset: DatasetArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Only metadata is read. Exit codes: 0 done; 1 interrupted; 2 the trace cannot be used."
)]
pub(crate) struct PinArguments {
    #[command(flatten)]
    pub(crate) dataset: DatasetArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 done; 1 interrupted; 2 the trace cannot be used.")]
pub(crate) struct FetchArguments {
    #[command(flatten)]
    pub(crate) dataset: DatasetArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 ready; 1 interrupted; 2 not ready, or there is nothing to check.")]
pub(crate) struct PublishCheckArguments {
    #[command(flatten)]
    pub(crate) dataset: DatasetArguments,
}

#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// The field, such as spec.replay.speed [default: the whole spec]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
}

#[derive(Args)]
pub(crate) struct FormatsArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CacheArguments {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Subcommand)]
pub(crate) enum CacheCommand {
    /// List what is in the cache, the least recently used first
    Ls(CacheLsArguments),
    /// Remove files from the cache. What a process reads or writes stays
    Prune(CachePruneArguments),
    /// Read everything in the cache, and remove what is damaged or of no use
    Verify(CacheVerifyArguments),
}

#[derive(Args)]
pub(crate) struct CacheLsArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CachePruneArguments {
    #[command(flatten)]
    pub(crate) what: CachePruned,

    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What goes. One of them has to be given.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CachePruned {
    /// What was not used for so long, such as 30d or 12h
    #[arg(long, value_name = "AGE", value_parser = crate::cache::age)]
    pub(crate) older_than: Option<Duration>,

    /// What was used least recently, until the rest is at most so large, such as 10GiB
    #[arg(long, value_name = "SIZE", value_parser = crate::cache::size)]
    pub(crate) to_size: Option<ByteSize>,

    /// What interrupted downloads left
    #[arg(long)]
    pub(crate) partials: bool,

    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 every file is as it was; 1 something was damaged or missing, or it failed."
)]
pub(crate) struct CacheVerifyArguments {
    /// Remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
