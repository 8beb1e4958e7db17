//! From the lines of a trace to a plan.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use reprise_content::schedule::{self, Extent, Load, Schedule, Speed, Window};
use reprise_content::store::{Content, Origin, Writer};
use reprise_content::template::{Api, ModelRewrite, Template};
use reprise_contract::plan::PlanHead;
use reprise_dataset::{Format, Options, read};
use reprise_worker::{LatePolicy, Plan, RequestNumbers};

/// The content of a trace, read with the format's defaults.
pub fn content(format: Format, lines: &[impl AsRef<str>]) -> Content {
    let lines: Vec<_> = lines.iter().map(AsRef::as_ref).collect();
    let trace = lines.join("\n");
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path()).unwrap();
    read(format, &mut trace.as_bytes(), &Options::default(), &mut |turn| {
        writer.push(&turn)
    })
    .unwrap();
    let origin = Origin {
        // Only a key for synthesised text here, the same for every trace.
        trace_digest: "0".repeat(64).try_into().unwrap(),
        format: format.name().to_owned(),
        options: BTreeMap::new(),
        corpus: reprise_content::corpus::NAME.to_owned(),
        seed: 7,
    };
    writer.finish(origin).unwrap()
}

/// A line of a `workload_trace`: this body at this time.
#[must_use]
pub fn at(seconds: f64, body: &str) -> String {
    format!(r#"{{"timestamp":{seconds},"body":{body}}}"#)
}

/// A body that asks for a stream.
pub const STREAMED: &str = r#"{"messages":[{"role":"user","content":"Hi"}],"stream":true}"#;

/// So many records that ask for a stream, all at the same time.
#[must_use]
pub fn burst(records: usize) -> Content {
    content(Format::WorkloadTrace, &vec![at(0.0, STREAMED); records])
}

/// Everything as recorded.
#[must_use]
pub fn as_recorded(content: &Content) -> Schedule {
    let load = Load::Recorded {
        speed: Speed::new(1.0).unwrap(),
        window: Window::default(),
    };
    schedule::build(content, load, Extent::default()).unwrap()
}

/// So many sessions at once.
#[must_use]
pub fn at_concurrency(content: &Content, sessions: u32) -> Schedule {
    let load = Load::Concurrency(NonZeroU32::new(sessions).unwrap());
    schedule::build(content, load, Extent::default()).unwrap()
}

/// A plan with defaults: chat, one thread, a long timeout, nothing dropped.
#[must_use]
pub fn plan(content: Content, schedule: Schedule, targets: &[impl AsRef<str>]) -> Plan {
    let head = head(&content, &schedule, targets);
    Plan::new(
        &head,
        content,
        schedule,
        RequestNumbers::whole(),
        NonZeroUsize::MIN,
    )
    .unwrap()
}

/// What such a plan says of all its requests.
#[must_use]
pub fn head(content: &Content, schedule: &Schedule, targets: &[impl AsRef<str>]) -> PlanHead {
    let mut requests = schedule.requests.iter();
    let first_measured = requests.find(|request| !request.is_warmup);
    PlanHead {
        mode: schedule.mode,
        schedule_hash: schedule.hash(),
        content_digest: content.digest(),
        requests: u32::try_from(schedule.requests.len()).unwrap(),
        workers: NonZeroU32::MIN,
        measured_from_ns: first_measured.and_then(|request| request.offset_ns),
        template: Template {
            api: Api::Chat,
            model: Some("mock-model".to_owned()),
            rewrite: ModelRewrite::default(),
            streaming: None,
            match_output_length: false,
        },
        targets: targets.iter().map(|target| target.as_ref().to_owned()).collect(),
        headers: Vec::new(),
        timeout: Duration::from_mins(1),
        late_policy: LatePolicy::CatchUp,
        late_threshold: Duration::from_millis(50),
        duration: None,
    }
}

/// A plan that sends everything as recorded.
#[must_use]
pub fn recorded_plan(content: Content, targets: &[impl AsRef<str>]) -> Plan {
    let schedule = as_recorded(&content);
    plan(content, schedule, targets)
}

/// A plan that sends so many streamed requests, one after the other.
#[must_use]
pub fn one_by_one(requests: usize, target: &str) -> Plan {
    let content = burst(requests);
    let schedule = at_concurrency(&content, 1);
    plan(content, schedule, &[target])
}
