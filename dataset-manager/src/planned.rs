//! From a spec and its content to a plan: the head that all requests share, and the schedule.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use reprise_content::schedule::{self, Load, Schedule, ScheduleError};
use reprise_content::template::{self, ModelRewrite, Template, TemplateError};
use reprise_contract::plan::{LatePolicy, PlanHead};
use reprise_contract::summary::Warning;
use reprise_crds::{Api, ReplayJobSpec};
use url::Url;

use crate::load::{LoadError, extent, load};
use crate::prepare::Prepared;

/// A plan, and what the reader of its results should know.
#[derive(Debug)]
pub struct Planned {
    /// What all requests have in common.
    pub head: PlanHead,
    /// When they go. Shared, as it is large: with whoever hands it out, and with whoever holds outcomes against it.
    pub schedule: Arc<Schedule>,
    /// What decided that.
    pub load: Load,
    /// What the reader of the results should know.
    pub warnings: Vec<Warning>,
}

/// Content that no plan can be made of.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// An API that is not there yet.
    #[error("Cannot use target.api: {0:?} is not supported yet. Use chat or completions.")]
    Api(Api),
    /// No bodies can be made.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Spec and trace do not agree on a load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The trace cannot give that load.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// More requests than can be numbered.
    #[error(
        "Cannot use the trace: its schedule has {0} requests, more than 4,294,967,295. Set replay.requests."
    )]
    TooManyRequests(usize),
}

/// Makes the plan, checking all that can be wrong with it before anything is sent.
///
/// # Errors
/// When spec, trace and number of workers do not go together.
pub fn plan(spec: &ReplayJobSpec, prepared: &Prepared, workers: NonZeroU32) -> Result<Planned, PlanError> {
    let (target, replay) = (&spec.target, &spec.replay);
    let template = template(spec)?;
    template::check(&template, &prepared.content)?;
    let load = load(replay, prepared.facts.is_timed, workers)?;
    let schedule = schedule::build(&prepared.content, load, extent(replay))?;
    let warnings = warnings(spec, prepared, &schedule);
    let requests = schedule.requests.len();
    let head = PlanHead {
        mode: schedule.mode,
        schedule_hash: schedule.hash(),
        content_digest: prepared.content.digest(),
        requests: u32::try_from(requests).map_err(|_| PlanError::TooManyRequests(requests))?,
        workers,
        measured_from_ns: measured_from_ns(&schedule),
        targets: target
            .urls
            .iter()
            .map(|url| posted_url(url, template.api))
            .collect(),
        headers: target.headers.clone().into_iter().collect(),
        template,
        timeout: target.timeout.get(),
        late_policy: match replay.late_policy {
            reprise_crds::LatePolicy::CatchUp => LatePolicy::CatchUp,
            reprise_crds::LatePolicy::Drop => LatePolicy::Drop,
            reprise_crds::LatePolicy::Abort => LatePolicy::Abort,
        },
        late_threshold: replay.late_threshold.get(),
        duration: replay.duration.map(reprise_crds::TimeSpan::get),
    };
    Ok(Planned {
        head,
        schedule: Arc::new(schedule),
        load,
        warnings,
    })
}

/// When the first measured request is due.
fn measured_from_ns(schedule: &Schedule) -> Option<i64> {
    let mut requests = schedule.requests.iter();
    requests.find(|request| !request.is_warmup)?.offset_ns
}

/// The URL that requests are posted to: a URL without a path gets that of the API. What is no URL stays as it is, for
/// whoever connects to say so.
fn posted_url(text: &str, api: template::Api) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return text.to_owned();
    };
    if matches!(url.path(), "" | "/") {
        url.set_path(api.path());
    }
    url.into()
}

fn template(spec: &ReplayJobSpec) -> Result<Template, PlanError> {
    let target = &spec.target;
    let api = match target.api {
        Api::Chat => template::Api::Chat,
        Api::Completions => template::Api::Completions,
        api => return Err(PlanError::Api(api)),
    };
    Ok(Template {
        api,
        model: target.model.clone(),
        rewrite: ModelRewrite {
            mapping: target.model_mapping.clone(),
            override_all: target.model_override.clone(),
        },
        streaming: target.streaming,
        match_output_length: spec.replay.match_output_length,
    })
}

fn warnings(spec: &ReplayJobSpec, prepared: &Prepared, schedule: &Schedule) -> Vec<Warning> {
    let facts = &prepared.facts;
    let target = &spec.target;
    let rewrites = target.model_override.is_some() || !target.model_mapping.is_empty();
    let left_out = schedule.left_out;
    let of_source = prepared.record.warnings.iter();
    let of_trace = facts.warnings.iter();
    let mut warnings: Vec<_> = of_source
        .map(|found| warning(found.code(), found.to_string()))
        .chain(of_trace.map(|found| warning(found.code(), found.to_string())))
        .collect();
    let mut warn_if = |condition: bool, code: &str, message: String| {
        if condition {
            warnings.push(warning(code, message));
        }
    };
    warn_if(
        target.model.is_some() && facts.has_recorded_bodies,
        "ModelNotApplied",
        "target.model does not rewrite recorded bodies; each goes to the model it names. target.modelOverride and \
         target.modelMapping rewrite."
            .to_owned(),
    );
    warn_if(
        rewrites && !facts.has_recorded_models,
        "ModelRewriteNotApplied",
        "target.modelOverride and target.modelMapping rewrite recorded models, and no record names one."
            .to_owned(),
    );
    warn_if(
        left_out.outside_window > 0,
        "RecordsOutsideWindow",
        format!(
            "{} records belong to sessions that begin outside replay.window and were left out.",
            left_out.outside_window
        ),
    );
    warn_if(
        left_out.beyond_requests > 0,
        "RecordsBeyondRequests",
        format!(
            "{} records were left out, as replay.requests was reached without them.",
            left_out.beyond_requests
        ),
    );
    let measured = count_measured(schedule);
    let asked = spec.replay.requests.map_or(measured, NonZeroU64::get);
    warn_if(
        measured < asked,
        "FewerRequestsThanAsked",
        format!("replay.requests asks for {asked} measured requests, and the trace has {measured}."),
    );
    let without_length = prepared.turns_without_output_length;
    warn_if(
        spec.replay.match_output_length && without_length > 0,
        "OutputLengthNotRecorded",
        format!(
            "replay.matchOutputLength left {without_length} records as they are, which have no recorded length."
        ),
    );
    let constrained = prepared.constrained_turns;
    warn_if(
        spec.replay.match_output_length && constrained > 0,
        "IgnoreEosNotSet",
        format!(
            "replay.matchOutputLength did not set ignore_eos on {constrained} records whose decoding a grammar constrains: an \
             engine may not go on where its grammar ends."
        ),
    );
    warnings
}

fn count_measured(schedule: &Schedule) -> u64 {
    schedule
        .requests
        .iter()
        .filter(|request| !request.is_warmup)
        .count() as u64
}

fn warning(code: &str, message: String) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
    }
}
