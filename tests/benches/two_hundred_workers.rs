//! Whether one dataset-manager keeps up with 200 workers that deliver 5,000,000 outcomes as fast as it takes them.
//!
//! The manager is a process of its own. The workers are clients in this one: they say what a worker says, and send nothing to
//! any target. Ends with an error when a limit is broken. `REPRISE_BENCH_WORKERS` and `REPRISE_BENCH_OUTCOMES` make it smaller.

mod support;

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reprise_contract::outcome::Times;
use reprise_contract::protocol::batch::{BatchHead, encode};
use reprise_contract::protocol::{
    Armed, Capacity, ClockReading, ClockSample, Confirmed, Directive, Incarnation, Join, Joined, PROTOCOL,
    Readied, Ready, Received, path,
};
use reprise_contract::{Ending, Gaps, Histogram, Outcome, Phase, Summary};
use reprise_identity::{Certificate, RunKey, RunSecrets};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::sync::Semaphore;

const WORKERS: u32 = 200;
const OUTCOMES: u32 = 5_000_000;
/// Outcomes of a batch.
const BATCH: usize = 4_096;
/// Between two records, in milliseconds: 20,000 requests a second.
const GAP_MS: f64 = 0.05;
/// Shards that are read at once: each is held in memory, and all share the disk.
const READING: usize = 8;
const CLOCK_LOOKS: usize = 5;
const MOST_MEMORY_KIB: u64 = 1 << 20;
const LONGEST_MERGE: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_mins(15);
/// How much later than the manager's end its workers may be seen to have gone home.
const FAREWELL: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(10);
const UID: &str = "0f3c9a2e-0000-4000-8000-000000000001";

#[tokio::main]
async fn main() -> Result<()> {
    let workers = number("REPRISE_BENCH_WORKERS", WORKERS)?;
    let outcomes = number("REPRISE_BENCH_OUTCOMES", OUTCOMES)?;
    raise_open_files()?;
    let folder = tempfile::tempdir()?;
    let secrets = write_run(folder.path(), workers, outcomes)?;
    let mut manager = Manager::start(folder.path())?;
    let result = tokio::select! {
        result = measure(&manager, &secrets, workers) => result,
        () = tokio::time::sleep(LIMIT) => Err(anyhow::anyhow!("not done within {LIMIT:?}")),
    };
    let log = || std::fs::read_to_string(folder.path().join("manager.log")).unwrap_or_default();
    let (delivery, merge, peak_kib) = result.with_context(log)?;
    manager.wait().await.with_context(log)?;
    let summary: Summary = serde_json::from_slice(&std::fs::read(manager.summary())?)?;
    let counts = &summary.counts;
    println!("| workers | outcomes | delivered in | outcomes/s | merged in | peak memory |");
    println!("| --- | --- | --- | --- | --- | --- |");
    println!(
        "| {workers} | {outcomes} | {:.2} s | {:.0} | {:.2} s | {} MiB |",
        delivery.as_secs_f64(),
        f64::from(outcomes) / delivery.as_secs_f64(),
        merge.as_secs_f64(),
        peak_kib >> 10
    );
    println!("{counts:?}");
    ensure!(
        counts.completed == u64::from(outcomes) && counts.unknown == 0,
        "the counts are wrong"
    );
    ensure!(summary.workers.len() == workers as usize, "a worker is missing");
    ensure!(peak_kib < MOST_MEMORY_KIB, "the manager took 1 GiB or more");
    ensure!(merge < LONGEST_MERGE, "merging took {LONGEST_MERGE:?} or longer");
    Ok(())
}

fn number(name: &str, default: u32) -> Result<u32> {
    std::env::var(name).map_or(Ok(default), |text| {
        text.parse().with_context(|| format!("{name}={text}"))
    })
}

/// Every worker has some connections.
fn raise_open_files() -> Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// All that a manager finds when it starts.
fn write_run(folder: &Path, workers: u32, requests: u32) -> Result<RunSecrets> {
    let trace = folder.join("trace.jsonl");
    support::write_trace(
        &trace,
        (0..requests).map(|request| f64::from(request) * GAP_MS),
        16,
    )?;
    for name in ["secrets", "manager"] {
        std::fs::create_dir(folder.join(name))?;
    }
    let certificate = Certificate::for_run(&["127.0.0.1".to_owned()], Duration::from_hours(1))?;
    let secrets = RunSecrets::new(certificate, &RunKey::generate()?, UID, 1);
    secrets.write(&folder.join("secrets"))?;
    let run = json!({
        "schemaVersion": "reprise.dev/run/v1",
        "name": "load",
        "uid": UID,
        "attempt": 1,
        "spec": {
            "dataset": {"source": trace, "format": "mooncake_trace"},
            "target": {"urls": ["http://127.0.0.1:1"], "model": "mock", "timeout": "10s"},
            "replay": {"seed": 7},
            "results": {"hold": "0s"},
            "workers": {"replicas": workers},
        },
    });
    std::fs::write(folder.join("run.json"), run.to_string())?;
    Ok(secrets)
}

/// The manager's process, which is killed when it is dropped.
struct Manager {
    process: Child,
    url: String,
    folder: PathBuf,
}

impl Manager {
    fn start(folder: &Path) -> Result<Self> {
        let port = reprise_test_servers::free_port();
        let process = Command::new(support::binary("reprise-dataset-manager")?)
            .env("REPRISE_RUN_FILE", folder.join("run.json"))
            .env("REPRISE_RUN_SECRETS", folder.join("secrets"))
            .env("REPRISE_LISTEN", format!("127.0.0.1:{port}"))
            .env(
                "REPRISE_LOCAL_LISTEN",
                format!("127.0.0.1:{}", reprise_test_servers::free_port()),
            )
            .env("REPRISE_SCRATCH", folder.join("manager"))
            .env("REPRISE_TERMINATION_MESSAGE", folder.join("termination"))
            .env("REPRISE_RESULTS_DIR", folder.join("results"))
            // All workers share this machine's cores, and read their shards one after the other.
            .env("REPRISE_REGISTRATION_TIMEOUT", "600")
            .env("REPRISE_LOG", "info")
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("manager.log"))?)
            .spawn()?;
        Ok(Self {
            process,
            url: format!("https://127.0.0.1:{port}"),
            folder: folder.to_owned(),
        })
    }

    fn summary(&self) -> PathBuf {
        self.folder.join("results/load/0f3c9a2e-1/summary.json")
    }

    /// The most memory that it held so far; `None` when it has ended.
    fn peak_kib(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Watches it until it ends; gives back the most memory seen.
    async fn memory_until_end(&self) -> Result<u64> {
        let mut peak_kib = None;
        while let Some(kib) = self.peak_kib() {
            peak_kib = Some(kib);
            tokio::time::sleep(TICK).await;
        }
        peak_kib.context("the kernel does not tell the manager's memory")
    }

    /// When its summary was there.
    async fn summary_written(&self) -> Instant {
        while !self.summary().exists() {
            tokio::time::sleep(TICK).await;
        }
        Instant::now()
    }

    async fn wait(&mut self) -> Result<()> {
        loop {
            if let Some(exit) = self.process.try_wait()? {
                ensure!(exit.success(), "the manager ended with {exit}");
                return Ok(());
            }
            tokio::time::sleep(TICK).await;
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // One that has ended cannot be killed, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How long delivering took, how long from then to the summary, and the manager's peak of memory in KiB.
async fn measure(manager: &Manager, secrets: &RunSecrets, workers: u32) -> Result<(Duration, Duration, u64)> {
    // The manager listens before it prepares; a worker's calls wait for the rest.
    let root = reqwest::Certificate::from_pem(secrets.certificate.root_pem.as_bytes())?;
    let began = Instant::now();
    let reading = Arc::new(Semaphore::new(READING));
    let mut lives = tokio::task::JoinSet::new();
    for index in 0..workers {
        let http = reqwest::Client::builder()
            .tls_certs_only([root.clone()])
            .no_proxy()
            .build()?;
        let worker = Worker {
            index,
            life: Incarnation::try_from(format!("worker-{index}"))?,
            http,
            url: manager.url.clone(),
            token: secrets.worker.expose().to_owned(),
            began,
            reading: reading.clone(),
        };
        lives.spawn(async move {
            let done = worker.live().await;
            done.with_context(|| format!("worker {index}"))
        });
    }
    let gone_home = async {
        let mut spans = Vec::new();
        while let Some(span) = lives.join_next().await {
            spans.push(span??);
        }
        let first = spans.iter().map(|span| span.0).min().context("no worker")?;
        let last = spans.iter().map(|span| span.1).max().context("no worker")?;
        Ok((first, last))
    };
    let written = async { Ok::<_, anyhow::Error>(manager.summary_written().await) };
    let others = async { tokio::try_join!(gone_home, written) };
    let ended = manager.memory_until_end();
    tokio::pin!(others, ended);
    // The manager ends by itself as soon as all have gone home, perhaps before they are seen to have; not much earlier.
    let (((first, last), written), peak_kib) = tokio::select! {
        done = &mut others => (done?, ended.await?),
        peak_kib = &mut ended => {
            let done = tokio::time::timeout(FAREWELL, others).await;
            (done.context("the manager ended before its workers")??, peak_kib?)
        }
    };
    Ok((last - first, written.saturating_duration_since(last), peak_kib))
}

/// A request of a shard.
struct Planned {
    request: u32,
    session: u32,
    place: u32,
    offset_ns: i64,
}

struct Worker {
    index: u32,
    life: Incarnation,
    http: reqwest::Client,
    url: String,
    token: String,
    began: Instant,
    reading: Arc<Semaphore>,
}

impl Worker {
    /// From joining to going home. Gives back when the first batch went, and when the last was taken.
    async fn live(&self) -> Result<(Instant, Instant)> {
        self.join().await?;
        let shard = self.shard().await?;
        let mut clock = Vec::new();
        for _ in 0..CLOCK_LOOKS {
            clock.push(self.look_at_clock().await?);
        }
        let best = clock.iter().min_by_key(|sample| sample.round_trip_ns);
        let ahead_ns = best
            .map(|best| best.manager_ns - best.local_ns)
            .context("no look at the clock")?;
        let t0_local_ns = self.start().await? - ahead_ns;
        let wait_ns = u64::try_from(t0_local_ns - self.local_ns()?).unwrap_or_default();
        tokio::time::sleep(Duration::from_nanos(wait_ns)).await;
        let (span, ()) = tokio::try_join!(self.deliver(&shard, clock, t0_local_ns), self.until_released())?;
        Ok(span)
    }

    fn local_ns(&self) -> Result<i64> {
        Ok(i64::try_from(self.began.elapsed().as_nanos())?)
    }

    async fn join(&self) -> Result<()> {
        let join = serde_json::to_vec(&Join {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            index: self.index,
            incarnation: self.life.clone(),
            capacity: Capacity {
                threads: 1,
                requests_per_second: 1_000_000,
                connections: 1_000_000,
            },
        })?;
        loop {
            let call = self.post(path::JOIN, join.clone());
            match call.send().await {
                // It does not listen yet.
                Err(error) if error.is_connect() => tokio::time::sleep(TICK).await,
                answer => match serde_json::from_slice(&good(answer?).await?)? {
                    Joined::NotYet { .. } => {}
                    Joined::Welcome { .. } => return Ok(()),
                    Joined::Released { release } => bail!("sent home early: {release:?}"),
                },
            }
        }
    }

    async fn shard(&self) -> Result<Vec<Planned>> {
        let _turn = self.reading.acquire().await?;
        let call = self.get(&format!(
            "{}/{}?incarnation={}",
            path::SHARDS,
            self.index,
            self.life
        ));
        let bytes = good(call.send().await?).await?;
        tokio::task::spawn_blocking(move || planned(bytes)).await?
    }

    async fn look_at_clock(&self) -> Result<ClockSample> {
        let before = self.local_ns()?;
        let reading: ClockReading =
            serde_json::from_slice(&good(self.get(path::CLOCK).send().await?).await?)?;
        let took = self.local_ns()? - before;
        Ok(ClockSample {
            local_ns: before + took / 2,
            manager_ns: reading.manager_ns,
            round_trip_ns: took.unsigned_abs(),
        })
    }

    /// Gets ready with the others, and confirms. Gives T0 on the manager's clock.
    async fn start(&self) -> Result<i64> {
        let ready = serde_json::to_vec(&Ready {
            incarnation: self.life.clone(),
            failure: None,
        })?;
        loop {
            let call = self.post(&format!("{}/{}", path::READY, self.index), ready.clone());
            let (epoch, t0_manager_ns) = match serde_json::from_slice(&good(call.send().await?).await?)? {
                Readied::NotYet { .. } => continue,
                Readied::Start { epoch, t0_manager_ns } => (epoch, t0_manager_ns),
                Readied::Released { release } => bail!("sent home early: {release:?}"),
            };
            let armed = serde_json::to_vec(&Armed {
                incarnation: self.life.clone(),
                epoch,
                t0_manager_ns,
            })?;
            let call = self.post(&format!("{}/{}", path::ARMED, self.index), armed);
            match serde_json::from_slice(&good(call.send().await?).await?)? {
                Confirmed::Go => return Ok(t0_manager_ns),
                Confirmed::Moved => {}
                Confirmed::Released { release } => bail!("sent home early: {release:?}"),
            }
        }
    }

    /// Delivers everything, one batch after the other.
    async fn deliver(
        &self,
        shard: &[Planned],
        mut clock: Vec<ClockSample>,
        t0_local_ns: i64,
    ) -> Result<(Instant, Instant)> {
        let first = Instant::now();
        let batches = shard.chunks(BATCH).chain(std::iter::once(&[][..]));
        let last = shard.len().div_ceil(BATCH);
        for (number, requests) in batches.enumerate() {
            let head = BatchHead {
                incarnation: self.life.clone(),
                number: number as u64,
                watermark_ns: None,
                sent: u32::try_from(shard.len().min((number + 1) * BATCH))?,
                t0_local_ns,
                clock: std::mem::take(&mut clock),
                gaps: Histogram::default(),
                is_last: number == last,
                stopped: None,
                is_leaving: false,
            };
            let outcomes: Vec<Outcome> = requests.iter().map(outcome).collect();
            let body = encode(&head, &outcomes)?;
            let call = self.post(&format!("{}/{}", path::OUTCOMES, self.index), body);
            let received: Received = serde_json::from_slice(&good(call.send().await?).await?)?;
            ensure!(
                received.next == head.number + 1,
                "number {} is wanted",
                received.next
            );
            ensure!(
                received.directive.stop.is_none(),
                "stopped: {:?}",
                received.directive.stop
            );
        }
        Ok((first, Instant::now()))
    }

    /// Asks what to do, until it is to go home.
    async fn until_released(&self) -> Result<()> {
        let mut seen = 0;
        loop {
            let query = format!("incarnation={}&seen={seen}", self.life);
            let call = self.get(&format!("{}/{}?{query}", path::CONTROL, self.index));
            let directive: Directive = serde_json::from_slice(&good(call.send().await?).await?)?;
            if directive.release.is_some() {
                return Ok(());
            }
            seen = directive.number;
        }
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        let call = self.http.get(format!("{}{path}", self.url));
        call.bearer_auth(&self.token)
    }

    fn post(&self, path: &str, body: Vec<u8>) -> reqwest::RequestBuilder {
        let call = self.http.post(format!("{}{path}", self.url));
        call.bearer_auth(&self.token).body(body)
    }
}

/// The body of an answer to a call that is granted.
async fn good(answer: reqwest::Response) -> Result<Vec<u8>> {
    let status = answer.status();
    let body = answer.bytes().await?;
    ensure!(
        status.is_success(),
        "{status}: {}",
        String::from_utf8_lossy(&body)
    );
    Ok(body.to_vec())
}

/// What is to be known of a shard's requests; its content is only read.
fn planned(bytes: Vec<u8>) -> Result<Vec<Planned>> {
    let folder = tempfile::tempdir()?;
    let shard = reprise_content::shard::read(Cursor::new(bytes), folder.path())?;
    let requests = shard.schedule.requests.iter().zip(&shard.numbers);
    requests
        .map(|(request, number)| {
            Ok(Planned {
                request: *number,
                session: shard.content.turn(request.turn).session(),
                place: request.place,
                offset_ns: request.offset_ns.context("a request without a time")?,
            })
        })
        .collect()
}

/// An answer that was complete 2 ms after its request was due, and was not streamed.
fn outcome(planned: &Planned) -> Outcome {
    let due = planned.offset_ns;
    Outcome {
        request: planned.request,
        session: planned.session,
        turn: planned.place,
        request_id: None,
        phase: Phase::Measured,
        ending: Ending::Completed,
        times: Times {
            recorded: Some(due),
            due: Some(due),
            sent: Some(due + 50_000),
            headers: Some(due + 1_800_000),
            done: Some(due + 2_000_000),
            ..Times::default()
        },
        connect_ns: None,
        gaps: Gaps::default(),
        output_chunks: 0,
        input_tokens: None,
        cached_tokens: None,
        output_tokens: None,
        requested_output_tokens: None,
        status: Some(200),
        error: None,
        request_bytes: 400,
        answer_bytes: 300,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}
