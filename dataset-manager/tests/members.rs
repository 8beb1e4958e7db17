//! A real manager and real workers, over TLS: together they send what one would.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use reprise_content::schedule::{LeftOut, Request, Schedule};
use reprise_content::store::{Content, Origin, Writer};
use reprise_content::turn::{Body, Turn};
use reprise_content::{Piece, shard};
use reprise_contract::plan::{Api, LatePolicy, Mode, ModelRewrite, PlanHead, Template};
use reprise_contract::protocol::Stop;
use reprise_contract::{Digest, Ending, NotSentReason};
use reprise_dataset_manager::coordinator::Rules;
use reprise_dataset_manager::server::{Gathered, PlanServed, Server, ServerSettings};
use reprise_identity::{Certificate, RunKey, RunSecrets, random_incarnation};
use reprise_report::OutcomeReader;
use reprise_worker::member::{Exit, Settings, run};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// From one request to the next.
const APART_NS: i64 = 10_000_000;

/// A target that keeps the bodies it was sent.
struct Target {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Target {
    async fn start() -> Self {
        let bodies = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&bodies);
        let answer = move |body: String| {
            seen.lock().unwrap().push(body);
            async { r#"{"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":1}}"# }
        };
        let routes = Router::new().route("/v1/chat/completions", post(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, bodies }
    }

    /// What it was sent, in the order of the words.
    fn sent(&self) -> Vec<String> {
        let mut bodies = self.bodies.lock().unwrap().clone();
        bodies.sort_unstable();
        bodies
    }
}

/// A manager with a plan for so many workers, of so many requests.
struct Manager {
    server: Server,
    folder: TempDir,
}

impl Manager {
    async fn start(workers: u32, requests: u32, target: &Target) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificate = Certificate::for_run(&["127.0.0.1".to_owned()], Duration::from_hours(1)).unwrap();
        let secrets = RunSecrets::new(certificate, &RunKey::generate().unwrap(), "uid", 1);
        secrets.write(folder.path()).unwrap();
        let settings = ServerSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            local: None,
            rules: Rules::default(),
            outcomes: folder.path().join("outcomes.parquet"),
        };
        let server = Server::start(settings, &secrets.of_manager()).await.unwrap();
        server
            .plan_ready(plan(folder.path(), workers, requests, target))
            .unwrap();
        Self { server, folder }
    }

    fn worker(&self, index: u32) -> thread::JoinHandle<Exit> {
        let settings = Settings {
            manager: format!("https://{}", self.server.address()).parse().unwrap(),
            secrets: self.folder.path().to_owned(),
            index,
            incarnation: random_incarnation().unwrap(),
            threads: NonZeroUsize::MIN,
            scratch: Some(self.folder.path().to_owned()),
            join_within: Duration::from_mins(1),
            manager_timeout: Duration::from_mins(1),
            grace: Duration::from_secs(5),
            termination_message: None,
        };
        thread::spawn(move || run(&settings))
    }

    /// Gathers, lets the workers go home, and checks that they do.
    async fn finish(self, workers: Vec<thread::JoinHandle<Exit>>) -> (Gathered, TempDir) {
        let gathered = self.server.gather().await.unwrap();
        self.server.farewell(Duration::from_secs(15)).await;
        for worker in workers {
            let exit = tokio::task::spawn_blocking(|| worker.join().unwrap())
                .await
                .unwrap();
            assert_eq!(exit, Exit::Released);
        }
        self.server.shut_down().await;
        (gathered, self.folder)
    }
}

fn plan(folder: &Path, workers: u32, requests: u32, target: &Target) -> PlanServed {
    let content = content(folder, requests);
    let schedule = Schedule {
        mode: Mode::Recorded,
        requests: (0..requests).map(request).collect(),
        left_out: LeftOut::default(),
    };
    let workers = NonZeroU32::new(workers).unwrap();
    let split = shard::split(&schedule, workers);
    let head = PlanHead {
        mode: Mode::Recorded,
        schedule_hash: schedule.hash(),
        content_digest: content.digest(),
        requests,
        workers,
        measured_from_ns: Some(0),
        template: Template {
            api: Api::Chat,
            model: Some("m".to_owned()),
            rewrite: ModelRewrite::default(),
            streaming: Some(false),
            match_output_length: false,
        },
        targets: vec![format!("http://{}", target.address)],
        headers: Vec::new(),
        timeout: Duration::from_secs(10),
        late_policy: LatePolicy::CatchUp,
        late_threshold: Duration::from_millis(50),
        duration: None,
    };
    let (written, of_shards) = (content_again(folder, &content), split.shards.clone());
    let schedule = Arc::new(schedule);
    let to_write = Arc::clone(&schedule);
    PlanServed {
        head,
        content,
        schedule,
        shards: split
            .shards
            .iter()
            .map(|numbers| numbers.as_slice().into())
            .collect(),
        write_shard: Arc::new(move |index, sink: &mut dyn Write| {
            shard::write(&written, &to_write, &of_shards[index as usize], sink)
        }),
        enough: Box::new(move |capacities| {
            shard::enough(&split, capacities).map_err(|too_few| too_few.to_string())
        }),
    }
}

fn request(turn: u32) -> Request {
    Request {
        turn,
        offset_ns: Some(i64::from(turn) * APART_NS),
        delay_ns: 0,
        next: None,
        place: 0,
        is_warmup: false,
    }
}

fn content(folder: &Path, requests: u32) -> Content {
    let mut writer = Writer::create(folder).unwrap();
    for session in 0..requests {
        let words = Bytes::from(format!("request {session}"));
        let turn = Turn {
            session,
            line: session + 1,
            recorded_ns: None,
            delay_ns: None,
            input_tokens: None,
            output_tokens: None,
            request_id: None,
            headers: Vec::new(),
            is_constrained: false,
            body: Body::Prompt {
                pieces: vec![Piece::Literal(words)],
                extra: None,
            },
        };
        writer.push(&turn).unwrap();
    }
    let origin = Origin {
        trace_digest: Digest::from_bytes([0; 32]),
        format: String::new(),
        options: BTreeMap::new(),
        corpus: String::new(),
        seed: 0,
    };
    writer.finish(origin).unwrap()
}

/// The same content, opened once more.
fn content_again(folder: &Path, content: &Content) -> Content {
    self::content(folder, content.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_workers_sends_what_one_would() {
    let mut sent = Vec::new();
    for workers in [1, 3] {
        let target = Target::start().await;
        let manager = Manager::start(workers, 120, &target).await;
        let running = (0..workers).map(|index| manager.worker(index)).collect();
        let (gathered, _folder) = manager.finish(running).await;
        assert_eq!(gathered.stop, None);
        assert!(gathered.workers.iter().all(|worker| worker.lost.is_none()));
        assert!(gathered.workers.iter().all(|worker| worker.clock.is_some()));

        let reader = OutcomeReader::open(&gathered.outcomes).unwrap();
        let mut outcomes: Vec<_> = reader.flat_map(Result::unwrap).collect();
        outcomes.sort_by_key(|outcome| outcome.request);
        assert_eq!(outcomes.len(), 120);
        for (number, outcome) in (0..).zip(&outcomes) {
            assert_eq!((outcome.request, outcome.ending), (number, Ending::Completed));
            assert_eq!(outcome.times.recorded, Some(i64::from(number) * APART_NS));
            assert!(outcome.lag_ns().unwrap() >= 0);
        }
        sent.push(target.sent());
    }
    assert_eq!(sent[0].len(), 120);
    assert_eq!(sent[0], sent[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_reports_what_was_measured() {
    let target = Target::start().await;
    let manager = Manager::start(2, 3_000, &target).await;
    let running = vec![manager.worker(0), manager.worker(1)];
    while target.bodies.lock().unwrap().len() < 100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    manager.server.stop(Stop::Cancelled);
    let (gathered, _folder) = manager.finish(running).await;
    assert_eq!(gathered.stop, Some(Stop::Cancelled));
    let reader = OutcomeReader::open(&gathered.outcomes).unwrap();
    let outcomes: Vec<_> = reader.flat_map(Result::unwrap).collect();
    assert_eq!(outcomes.len(), 3_000, "every request has its outcome");
    let cancelled = Ending::NotSent(NotSentReason::RunCancelled);
    let not_sent = outcomes
        .iter()
        .filter(|outcome| outcome.ending == cancelled)
        .count();
    let sent = outcomes.iter().filter(|outcome| outcome.was_sent()).count();
    assert_eq!(sent, target.sent().len());
    assert_eq!(sent + not_sent, 3_000);
    assert!(not_sent > 2_000, "{not_sent}");
}
