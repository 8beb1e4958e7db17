//! A manager that does what a test's script says.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use reprise_contract::outcome::Outcome;
use reprise_contract::protocol::batch::{self, BatchHead};
use reprise_contract::protocol::{
    Armed, ClockReading, Confirmed, Directive, Incarnation, Join, Joined, Readied, Ready, Received, Refusal,
    RefusalCode, Release, Role, Stop, path,
};
use reprise_identity::{Certificate, RunKey, RunSecrets};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::http::{Call, Reply, serve};
use crate::plan::SmallPlan;

/// How long a call may wait for news, at most.
const LONG_POLL: Duration = Duration::from_secs(2);
/// From a proposal to its T0: a worker starts only with an answer 2 s before.
const LEAD: Duration = Duration::from_millis(2_400);

/// A manager that does what a test's script says.
pub(crate) struct Manager {
    address: SocketAddr,
    pub(crate) secrets: TempDir,
    script: Arc<Script>,
}

struct Script {
    token: String,
    plan: SmallPlan,
    epoch: Instant,
    state: Mutex<State>,
    news: watch::Sender<u64>,
}

/// What the manager does and what it saw. Scripted answers are used up before the usual ones.
pub(crate) struct State {
    /// Its life.
    pub(crate) life: Incarnation,
    /// Whether it hangs up on every call.
    pub(crate) is_unreachable: bool,
    /// Answers to the first calls of join.
    pub(crate) joins: VecDeque<Scripted<Joined>>,
    /// How many shards arrive cut off (`true`: the connection breaks; `false`: the bytes end as if that were all).
    pub(crate) broken_shards: VecDeque<bool>,
    /// Answers to the first confirmations.
    pub(crate) confirmations: VecDeque<Scripted<Confirmed>>,
    /// Whether it stays silent on confirmations.
    pub(crate) withholds_go: bool,
    /// What happens to the first batches: refused, or kept without an answer (`None`).
    pub(crate) deliveries: VecDeque<Option<(StatusCode, RefusalCode)>>,
    /// What workers are told.
    pub(crate) directive: Directive,
    /// Whether the worker is sent home when its last batch is there.
    pub(crate) releases: bool,
    /// T0 of the last proposal, on its clock.
    pub(crate) t0_ns: i64,
    /// How often each call came.
    pub(crate) calls: BTreeMap<String, u32>,
    /// Who joined last.
    pub(crate) joined: Option<Join>,
    /// What was given as a reason not to be ready.
    pub(crate) declined: Option<String>,
    /// Batches that were kept, in the order of their arrival.
    pub(crate) batches: Vec<(BatchHead, Vec<Outcome>)>,
    /// The bytes of every batch that arrived, kept or not, by number.
    pub(crate) arrived: Vec<(u64, Bytes)>,
}

/// A scripted answer.
pub(crate) enum Scripted<T> {
    Answer(T),
    Refuse(StatusCode, RefusalCode),
}

impl Manager {
    pub(crate) fn start(plan: SmallPlan) -> Self {
        Self::with(plan, |_| {})
    }

    /// Starts with a script.
    pub(crate) fn with(plan: SmallPlan, script: impl FnOnce(&mut State)) -> Self {
        let certificate = Certificate::for_run(&["127.0.0.1".to_owned()], Duration::from_hours(1)).unwrap();
        let tls = acceptor(&certificate);
        let secrets = RunSecrets::new(certificate, &RunKey::new(&[7; 32]).unwrap(), "uid", 1);
        let folder = tempfile::tempdir().unwrap();
        secrets.write(folder.path()).unwrap();
        let mut state = State {
            life: life("manager-1"),
            is_unreachable: false,
            joins: VecDeque::new(),
            broken_shards: VecDeque::new(),
            confirmations: VecDeque::new(),
            withholds_go: false,
            deliveries: VecDeque::new(),
            directive: Directive {
                number: 1,
                epoch: 0,
                stop: None,
                release: None,
            },
            releases: true,
            t0_ns: 0,
            calls: BTreeMap::new(),
            joined: None,
            declined: None,
            batches: Vec::new(),
            arrived: Vec::new(),
        };
        script(&mut state);
        let worker = RunKey::new(&[7; 32]).unwrap().token("uid", 1, Role::Worker);
        let script = Arc::new(Script {
            token: format!("Bearer {}", worker.expose()),
            plan,
            epoch: Instant::now(),
            state: Mutex::new(state),
            news: watch::Sender::new(0),
        });
        let served = Arc::clone(&script);
        let address = serve(Some(tls), move |call| answer(Arc::clone(&served), call));
        Self {
            address,
            secrets: folder,
            script,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.script.state.lock().unwrap()
    }

    /// Changes something, and answers the calls that wait for news.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.script.news.send_modify(|news| *news += 1);
    }

    pub(crate) fn stop(&self, stop: Stop) {
        self.change(|state| {
            state.directive.number += 1;
            state.directive.stop = Some(stop);
        });
    }

    pub(crate) fn release(&self, release: Release) {
        self.change(|state| state.release(release));
    }

    /// Calls the last proposal off.
    pub(crate) fn call_off(&self) {
        self.change(|state| {
            state.directive.number += 1;
            state.directive.epoch += 1;
        });
    }

    /// Waits until something holds; a test that waits in vain fails.
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let started = Instant::now();
        while !holds(&self.state()) {
            assert!(
                started.elapsed() < Duration::from_mins(1),
                "waited in vain until {what}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl State {
    pub(crate) fn release(&mut self, release: Release) {
        self.directive.number += 1;
        self.directive.release = Some(release);
    }

    pub(crate) fn calls(&self, path: &str) -> u32 {
        self.calls.get(path).copied().unwrap_or_default()
    }

    /// Every outcome that was kept, in the order of arrival.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.batches.iter().flat_map(|(_, outcomes)| outcomes)
    }
}

pub(crate) fn life(name: &str) -> Incarnation {
    Incarnation::try_from(name.to_owned()).unwrap()
}

impl Script {
    fn now_ns(&self) -> i64 {
        i64::try_from(self.epoch.elapsed().as_nanos()).unwrap() + 5_000_000_000
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

async fn answer(script: Arc<Script>, call: Call) -> Reply {
    if script.state().is_unreachable {
        return Reply::HangUp;
    }
    if call.authorization != script.token {
        return refuse(StatusCode::UNAUTHORIZED, RefusalCode::WrongToken);
    }
    let parts: Vec<_> = call.uri.path().rsplitn(2, '/').collect();
    let name = match parts.first().map(|part| part.parse::<u32>()) {
        Some(Ok(index)) => {
            assert_eq!(index, 1, "the worker's index is 1");
            parts[1].to_owned()
        }
        _ => call.uri.path().to_owned(),
    };
    *script.state().calls.entry(name.clone()).or_default() += 1;
    match name.as_str() {
        path::JOIN => join(&script, &call),
        path::CLOCK => json(&ClockReading {
            manager: script.state().life.clone(),
            manager_ns: script.now_ns(),
        }),
        path::SHARDS => shard(&script),
        path::READY => ready(&script, &call),
        path::ARMED => armed(&script, &call).await,
        path::CONTROL => control(&script, &call).await,
        path::OUTCOMES => outcomes(&script, &call),
        other => panic!("a worker never calls {} {other}", call.method),
    }
}

fn join(script: &Script, call: &Call) -> Reply {
    let mut state = script.state();
    state.joined = Some(parse(call));
    match state.joins.pop_front() {
        Some(scripted) => scripted.reply(),
        None => json(&Joined::Welcome {
            manager: state.life.clone(),
            shard: 1,
            plan: Box::new(script.plan.head.clone()),
        }),
    }
}

fn shard(script: &Script) -> Reply {
    let half = script.plan.shard.slice(..script.plan.shard.len() / 2);
    match script.state().broken_shards.pop_front() {
        Some(true) => Reply::CutShort(half, 1_000),
        Some(false) => Reply::Answer(StatusCode::OK, half),
        None => Reply::Answer(StatusCode::OK, script.plan.shard.clone()),
    }
}

fn ready(script: &Script, call: &Call) -> Reply {
    let ready: Ready = parse(call);
    let mut state = script.state();
    if let Some(reason) = ready.failure {
        state.declined = Some(reason);
        return json(&Readied::Released {
            release: Release::RunFailed,
        });
    }
    state.t0_ns = script.now_ns() + i64::try_from(LEAD.as_nanos()).unwrap();
    if state.directive.epoch == 0 {
        state.directive.epoch = 1;
    }
    json(&Readied::Start {
        epoch: state.directive.epoch,
        t0_manager_ns: state.t0_ns,
    })
}

async fn armed(script: &Script, call: &Call) -> Reply {
    let armed: Armed = parse(call);
    {
        let mut state = script.state();
        assert_eq!(armed.t0_manager_ns, state.t0_ns);
        if let Some(scripted) = state.confirmations.pop_front() {
            if let Scripted::Answer(Confirmed::Moved) = scripted {
                state.directive.epoch += 1;
            }
            return scripted.reply();
        }
        if !state.withholds_go {
            return json(&Confirmed::Go);
        }
        state.withholds_go = false;
        state.directive.epoch += 1;
    }
    tokio::time::sleep(LONG_POLL).await;
    json(&Confirmed::Moved)
}

async fn control(script: &Script, call: &Call) -> Reply {
    let query = call.uri.query().unwrap_or_default();
    let seen = query.split('&').find_map(|pair| pair.strip_prefix("seen="));
    let seen: u64 = seen.map_or(0, |seen| seen.parse().unwrap());
    let mut news = script.news.subscribe();
    let is_news = news.wait_for(|_| script.state().directive.number != seen);
    // No news is an answer as well.
    let _ = tokio::time::timeout(LONG_POLL, is_news).await;
    json(&script.state().directive.clone())
}

fn outcomes(script: &Script, call: &Call) -> Reply {
    let (head, outcomes) = batch::decode(&call.body).unwrap();
    let mut state = script.state();
    state.arrived.push((head.number, call.body.clone()));
    let delivery = state.deliveries.pop_front();
    if let Some(Some((status, code))) = delivery {
        return refuse(status, code);
    }
    let next = state.batches.len() as u64;
    if head.number > next {
        return refuse(StatusCode::CONFLICT, RefusalCode::OutOfOrder);
    }
    if head.number == next {
        if head.is_last && state.releases {
            state.release(Release::RunOver);
        }
        state.batches.push((head, outcomes));
    }
    if delivery.is_some() {
        return Reply::HangUp;
    }
    json(&Received {
        next: state.batches.len() as u64,
        directive: state.directive.clone(),
    })
}

impl<T: Serialize> Scripted<T> {
    fn reply(&self) -> Reply {
        match self {
            Self::Answer(answer) => json(answer),
            Self::Refuse(status, code) => refuse(*status, *code),
        }
    }
}

fn parse<T: DeserializeOwned>(call: &Call) -> T {
    serde_json::from_slice(&call.body).unwrap()
}

fn json(answer: &impl Serialize) -> Reply {
    Reply::Answer(StatusCode::OK, Bytes::from(serde_json::to_vec(answer).unwrap()))
}

fn refuse(status: StatusCode, code: RefusalCode) -> Reply {
    let refusal = Refusal {
        code,
        message: format!("Refused by the test: {code:?}."),
    };
    Reply::Answer(status, Bytes::from(serde_json::to_vec(&refusal).unwrap()))
}

fn acceptor(certificate: &Certificate) -> TlsAcceptor {
    let chain = CertificateDer::pem_slice_iter(certificate.leaf_pem.as_bytes())
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.expose().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}
