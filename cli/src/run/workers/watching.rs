//! Watches a run by several processes: shows how it goes, replaces workers that died, and hears Ctrl-C.

use std::time::Duration;

use reprise_contract::protocol::{Stage, Stop};
use reprise_dataset_manager::server::{Gathered, Server};

use super::processes::Processes;
use super::{Job, failure};
use crate::exit::Failure;
use crate::run::deadline::Deadline;
use crate::run::progress::Replaying;

/// How often it is looked.
const TICK: Duration = Duration::from_millis(100);

/// Watches until every outcome is there or given up on.
pub(super) async fn watch(
    server: &Server,
    processes: &mut Processes,
    deadline: &Deadline,
    job: &Job<'_>,
) -> Result<Gathered, Failure> {
    let workers = job.planned.head.workers.get();
    let processes_word = if workers == 1 { "process" } else { "processes" };
    eprintln!("Starting {workers} worker {processes_word} ({})", job.chosen_by);
    let mut gathering = std::pin::pin!(server.gather());
    let mut ticks = tokio::time::interval(TICK);
    let mut is_stopped = false;
    let mut shown: Option<Replaying> = None;
    let gathered = loop {
        tokio::select! {
            gathered = &mut gathering => break gathered.map_err(failure),
            () = deadline.end().cancelled(), if !is_stopped => {
                is_stopped = true;
                server.stop(if deadline.has_passed() { Stop::DeadlinePassed } else { Stop::Cancelled });
            }
            _ = ticks.tick() => {
                processes.replace()?;
                show(server, &mut shown, job);
            }
        }
    };
    if let Some(shown) = shown {
        shown.finish();
    }
    gathered
}

fn show(server: &Server, shown: &mut Option<Replaying>, job: &Job<'_>) {
    let status = server.status();
    if status.stage != Stage::Replaying {
        return;
    }
    let schedule = &job.planned.schedule;
    let replaying =
        shown.get_or_insert_with(|| Replaying::show(status.numbers.planned, schedule.last_offset_ns()));
    replaying.set(&status.numbers);
    replaying.tick();
}
