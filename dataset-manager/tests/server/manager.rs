//! A manager with a small plan, and clients of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reprise_content::schedule::{LeftOut, Request, Schedule};
use reprise_content::store::{Content, Origin, Writer};
use reprise_content::turn::{Body, Turn};
use reprise_contract::outcome::Times;
use reprise_contract::plan::{Api, LatePolicy, Mode, ModelRewrite, PlanHead, Template};
use reprise_contract::protocol::batch::{BatchHead, encode};
use reprise_contract::protocol::{
    Armed, Capacity, ClockReading, ClockSample, Confirmed, Directive, Incarnation, Join, Joined, PROTOCOL,
    Readied, Ready, Received, Refusal, RefusalCode,
};
use reprise_contract::{Digest, Ending, Gaps, Histogram, Outcome, Phase};
use reprise_dataset_manager::coordinator::{OnLoss, Rules};
use reprise_dataset_manager::server::{PlanServed, Server, ServerSettings};
use reprise_identity::{Certificate, RunKey, RunSecrets, Token};
use reqwest::{RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// Workers of the plan, with [`REQUESTS`] requests each.
pub(crate) const WORKERS: u32 = 2;
/// Requests of each shard.
pub(crate) const REQUESTS: u32 = 3;

/// A manager that was started, with its secrets.
pub(crate) struct Manager {
    pub(crate) server: Server,
    pub(crate) secrets: RunSecrets,
    pub(crate) folder: TempDir,
    http: reqwest::Client,
}

impl Manager {
    pub(crate) async fn start() -> Self {
        Self::by(Rules {
            on_loss: OnLoss::GoOn,
            ..Rules::default()
        })
        .await
    }

    pub(crate) async fn by(rules: Rules) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificate = Certificate::for_run(&["127.0.0.1".to_owned()], Duration::from_hours(1)).unwrap();
        let secrets = RunSecrets::new(certificate, &RunKey::generate().unwrap(), "uid", 1);
        let settings = ServerSettings {
            listen: loopback(),
            local: Some(loopback()),
            rules,
            outcomes: folder.path().join("outcomes.parquet"),
        };
        let server = Server::start(settings, &secrets.of_manager()).await.unwrap();
        let root = reqwest::Certificate::from_pem(secrets.certificate.root_pem.as_bytes()).unwrap();
        let http = reqwest::Client::builder().tls_certs_only([root]).no_proxy();
        Self {
            server,
            secrets,
            folder,
            http: http.build().unwrap(),
        }
    }

    /// With the plan ready.
    pub(crate) async fn with_plan() -> Self {
        let manager = Self::start().await;
        manager.serve_plan();
        manager
    }

    pub(crate) fn serve_plan(&self) {
        self.server.plan_ready(plan(&self.folder)).unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.address())
    }

    /// A call without a token.
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(self.url(path))
    }

    /// A call without a token.
    pub(crate) fn post(&self, path: &str, body: impl Serialize) -> RequestBuilder {
        self.http.post(self.url(path)).json(&body)
    }

    pub(crate) fn operator(&self) -> &Token {
        &self.secrets.operator
    }

    /// A worker with this index, in this life.
    pub(crate) fn worker(&self, index: u32, life: &str) -> Worker<'_> {
        Worker {
            manager: self,
            index,
            life: Incarnation::try_from(life.to_owned()).unwrap(),
        }
    }

    /// Both workers, past T0.
    pub(crate) async fn replaying(&self) -> [Worker<'_>; 2] {
        let workers = [self.worker(0, "a"), self.worker(1, "a")];
        for worker in &workers {
            assert!(matches!(worker.join().await, Joined::Welcome { .. }));
        }
        let (one, two) = tokio::join!(workers[0].start(), workers[1].start());
        assert_eq!((one, two), (Confirmed::Go, Confirmed::Go));
        tokio::time::sleep(Duration::from_millis(4_100)).await;
        workers
    }
}

/// A worker's calls.
pub(crate) struct Worker<'a> {
    pub(crate) manager: &'a Manager,
    pub(crate) index: u32,
    pub(crate) life: Incarnation,
}

impl Worker<'_> {
    pub(crate) fn joining(&self) -> Join {
        Join {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            index: self.index,
            incarnation: self.life.clone(),
            capacity: Capacity {
                threads: 1,
                requests_per_second: 1_000,
                connections: 1_000,
            },
        }
    }

    pub(crate) fn call(&self, call: RequestBuilder) -> RequestBuilder {
        call.bearer_auth(self.manager.secrets.worker.expose())
    }

    pub(crate) async fn join(&self) -> Joined {
        good(self.call(self.manager.post("/v1/join", self.joining()))).await
    }

    pub(crate) fn ready_call(&self) -> RequestBuilder {
        let ready = Ready {
            incarnation: self.life.clone(),
            failure: None,
        };
        self.call(self.manager.post(&format!("/v1/ready/{}", self.index), ready))
    }

    /// Gets ready with the others, and confirms.
    pub(crate) async fn start(&self) -> Confirmed {
        match good(self.ready_call()).await {
            Readied::Start { epoch, t0_manager_ns } => {
                let armed = Armed {
                    incarnation: self.life.clone(),
                    epoch,
                    t0_manager_ns,
                };
                good(self.call(self.manager.post(&format!("/v1/armed/{}", self.index), armed))).await
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn control_call(&self, seen: u64) -> RequestBuilder {
        let path = format!("/v1/control/{}?incarnation={}&seen={seen}", self.index, self.life);
        self.call(self.manager.get(&path))
    }

    pub(crate) async fn control(&self, seen: u64) -> Directive {
        good(self.control_call(seen)).await
    }

    pub(crate) async fn clock(&self) -> ClockReading {
        good(self.call(self.manager.get("/v1/clock"))).await
    }

    pub(crate) fn outcomes_call(&self, body: Vec<u8>) -> RequestBuilder {
        let url = self.manager.url(&format!("/v1/outcomes/{}", self.index));
        self.call(self.manager.http.post(url).body(body))
    }

    /// A head, from a clock that is the manager's.
    pub(crate) async fn head(&self, number: u64) -> BatchHead {
        let now_ns = self.clock().await.manager_ns;
        BatchHead {
            incarnation: self.life.clone(),
            number,
            watermark_ns: None,
            sent: 0,
            t0_local_ns: now_ns,
            clock: vec![ClockSample {
                local_ns: now_ns,
                manager_ns: now_ns,
                round_trip_ns: 1_000,
            }],
            gaps: Histogram::default(),
            is_last: false,
            stopped: None,
            is_leaving: false,
        }
    }

    /// The outcomes of the shard's first requests.
    pub(crate) fn outcomes(&self, count: u32) -> Vec<Outcome> {
        (0..count).map(|at| outcome(at * WORKERS + self.index)).collect()
    }

    /// Delivers everything at once.
    pub(crate) async fn deliver_all(&self) -> Received {
        let mut head = self.head(0).await;
        head.sent = REQUESTS;
        head.is_last = true;
        good(self.outcomes_call(encode(&head, &self.outcomes(REQUESTS)).unwrap())).await
    }
}

/// The answer to a call that is granted.
pub(crate) async fn good<T: DeserializeOwned>(call: RequestBuilder) -> T {
    let answer = call.send().await.unwrap();
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The answer to a call that is refused.
pub(crate) async fn refused(call: RequestBuilder) -> (u16, RefusalCode, String) {
    let answer = call.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let refusal: Refusal = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}"));
    (status, refusal.code, refusal.message)
}

pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Requests of single turns, dealt to the workers in turn. The shard of a number is written as 200,000 times its digit.
fn plan(folder: &TempDir) -> PlanServed {
    let requests = WORKERS * REQUESTS;
    let mut writer = Writer::create(folder.path()).unwrap();
    for session in 0..requests {
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
            body: Body::Messages {
                messages: Bytes::from_static(b"[]"),
                extra: None,
            },
        };
        writer.push(&turn).unwrap();
    }
    let digest = Digest::from_bytes([0; 32]);
    let origin = Origin {
        trace_digest: digest,
        format: String::new(),
        options: BTreeMap::new(),
        corpus: String::new(),
        seed: 0,
    };
    let content: Content = writer.finish(origin).unwrap();
    let schedule = Schedule {
        mode: Mode::Recorded,
        requests: (0..requests)
            .map(|turn| Request {
                turn,
                offset_ns: Some(i64::from(turn) * 1_000_000),
                delay_ns: 0,
                next: None,
                place: 0,
                is_warmup: false,
            })
            .collect(),
        left_out: LeftOut::default(),
    };
    let head = PlanHead {
        mode: Mode::Recorded,
        schedule_hash: schedule.hash(),
        content_digest: content.digest(),
        requests,
        workers: NonZeroU32::new(WORKERS).unwrap(),
        measured_from_ns: Some(0),
        template: Template {
            api: Api::Chat,
            model: None,
            rewrite: ModelRewrite::default(),
            streaming: None,
            match_output_length: false,
        },
        targets: vec!["http://127.0.0.1:1".to_owned()],
        headers: Vec::new(),
        timeout: Duration::from_secs(10),
        late_policy: LatePolicy::CatchUp,
        late_threshold: Duration::from_millis(50),
        duration: None,
    };
    let shard = |index| (0..REQUESTS).map(|at| at * WORKERS + index).collect();
    PlanServed {
        head,
        content,
        schedule: Arc::new(schedule),
        shards: (0..WORKERS).map(shard).collect(),
        write_shard: Arc::new(|index, sink: &mut dyn Write| {
            (0..200_000).try_for_each(|_| write!(sink, "{index}"))
        }),
        enough: Box::new(|_| Ok(())),
    }
}

/// An outcome that completed 2 ms after it was due.
pub(crate) fn outcome(request: u32) -> Outcome {
    let due = i64::from(request) * 1_000_000;
    Outcome {
        request,
        session: request,
        turn: 0,
        request_id: None,
        phase: Phase::Measured,
        ending: Ending::Completed,
        times: Times {
            recorded: Some(due),
            due: Some(due),
            sent: Some(due + 1_000),
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
        request_bytes: 1,
        answer_bytes: 1,
        target: 0,
        worker: 0,
        clock_error_ns: None,
    }
}
