//! From the manager's shard to a replay that only waits for its start.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use reprise_content::shard::{self, Shard, ShardError};

use super::backoff::Backoff;
use super::client::{CallError, Client};
use super::delivery::Watermark;
use super::events::{Event, tell};
use super::exit::Failure;
use super::joining::Welcome;
use super::orders::final_refusal;
use super::scratch::{Scratch, ScratchError};
use super::settings::Settings;
use crate::{Batch, Control, Plan, RequestNumbers, Standby, prepare};

/// Batches between the replay and the collector.
const QUEUE: usize = 256;
/// How often a shard is fetched that arrives damaged.
const MAX_TRIES: u32 = 3;

/// A shard that is loaded, with connections that are warm.
pub(super) struct Loaded {
    pub(super) standby: Standby,
    pub(super) outcomes: Receiver<Batch>,
    pub(super) watermark: Watermark,
}

/// Fetches the shard, reads it, and gets the replay ready.
///
/// # Errors
/// [`Failure::Plan`] when the plan or the shard is of no use here: the manager must be told.
pub(super) async fn load(
    client: &Client,
    settings: &Settings,
    scratch: &Scratch,
    control: &Control,
    welcome: Welcome,
) -> Result<Loaded, Failure> {
    let shard = fetch_whole(client, welcome.shard, scratch).await?;
    tell(&Event::Loaded {
        requests: shard.numbers.len(),
    });
    let (threads, control) = (settings.threads, control.clone());
    let loaded = tokio::task::spawn_blocking(move || {
        let watermark = Watermark::new(&shard.schedule, &shard.numbers);
        let numbers = RequestNumbers::of_shard(shard.numbers);
        let plan = Plan::new(&welcome.plan, shard.content, shard.schedule, numbers, threads)
            .map_err(|error| Failure::Plan(error.to_string()))?;
        let (sender, outcomes) = sync_channel(QUEUE);
        let standby = prepare(plan, &control, &sender)?;
        Ok(Loaded {
            standby,
            outcomes,
            watermark,
        })
    });
    loaded.await.map_err(|_| panicked())?
}

fn panicked() -> Failure {
    Failure::Fault("loading the shard panicked".to_owned())
}

/// Fetches a shard and reads it, which checks it; again when it was damaged on the way.
async fn fetch_whole(client: &Client, shard: u32, scratch: &Scratch) -> Result<Shard, Failure> {
    let path = scratch.folder().join("shard.arrow");
    let mut tries = 0;
    loop {
        tries += 1;
        fetch(client, shard, &path).await?;
        let (path, folder) = (path.clone(), scratch.part(&format!("content-{tries}"))?);
        let read = tokio::task::spawn_blocking(move || read(&path, &folder));
        match read.await.map_err(|_| panicked())? {
            Ok(shard) => return Ok(shard),
            Err(ShardError::Damaged) if tries < MAX_TRIES => tell(&Event::ShardDamaged),
            Err(error) => return Err(Failure::Plan(error.to_string())),
        }
    }
}

/// Reads a shard that was fetched, and removes its file.
fn read(path: &Path, folder: &Path) -> Result<Shard, ShardError> {
    let shard = shard::read(BufReader::new(File::open(path)?), folder)?;
    // What cannot be removed now goes with the folder.
    let _ = std::fs::remove_file(path);
    Ok(shard)
}

/// Fetches a shard into a file, from the beginning again whenever the way breaks.
async fn fetch(client: &Client, shard: u32, path: &Path) -> Result<(), Failure> {
    let mut backoff = Backoff::default();
    loop {
        let error = match fetch_once(client, shard, path).await {
            Ok(()) => return Ok(()),
            Err(FetchError::Call(error)) => error,
            Err(FetchError::Write(source)) => {
                return Err(Failure::Scratch(ScratchError {
                    folder: path.to_owned(),
                    source,
                }));
            }
        };
        tell(&Event::Unanswered {
            call: "shards",
            error: &error,
        });
        if let Some(failure) = final_refusal(error) {
            return Err(failure);
        }
        backoff.wait().await;
    }
}

enum FetchError {
    Call(CallError),
    Write(std::io::Error),
}

async fn fetch_once(client: &Client, shard: u32, path: &Path) -> Result<(), FetchError> {
    let mut answer = client.shard(shard).await.map_err(FetchError::Call)?;
    let mut file = BufWriter::new(File::create(path).map_err(FetchError::Write)?);
    while let Some(part) = answer
        .chunk()
        .await
        .map_err(|error| FetchError::Call(CallError::Unreachable(error)))?
    {
        client.hear();
        file.write_all(&part).map_err(FetchError::Write)?;
    }
    file.flush().map_err(FetchError::Write)
}
