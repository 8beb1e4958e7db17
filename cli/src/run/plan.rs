//! From a spec and its content to a plan.

use std::num::{NonZeroU64, NonZeroUsize};
use std::thread::available_parallelism;

use reprise_content::schedule::{self, Load};
use reprise_content::template::{self, ModelRewrite, Template};
use reprise_contract::summary::Warning;
use reprise_crds::{Api, LatePolicy, ReplayJobSpec};
use reprise_worker::{Plan, RequestHeaders, Target};

use super::load::{extent, load};
use crate::exit::Failure;
use crate::prepare::Prepared;

/// A plan, and what the reader of its results should know.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) load: Load,
    pub(crate) warnings: Vec<Warning>,
}

/// Makes the plan, checking all that can be wrong with it before anything is sent.
pub(crate) fn plan(
    spec: &ReplayJobSpec,
    prepared: &Prepared,
    threads: Option<NonZeroUsize>,
) -> Result<Planned, Failure> {
    let (target, replay) = (&spec.target, &spec.replay);
    let template = template(spec)?;
    template::check(&template, &prepared.content).map_err(Failure::input)?;
    let targets = target.urls.iter().map(|url| Target::parse(url, template.api));
    let headers = target
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let load = load(replay, prepared.facts.is_timed).map_err(Failure::input)?;
    let schedule = schedule::build(&prepared.content, load, extent(replay)).map_err(Failure::input)?;
    let warnings = warnings(spec, prepared, &schedule);
    let plan = Plan {
        targets: targets.collect::<Result<_, _>>().map_err(Failure::input)?,
        headers: RequestHeaders::new(headers).map_err(Failure::input)?,
        template,
        schedule,
        content: prepared.content.clone(),
        timeout: target.timeout.get(),
        late_policy: match replay.late_policy {
            LatePolicy::CatchUp => reprise_worker::LatePolicy::CatchUp,
            LatePolicy::Drop => reprise_worker::LatePolicy::Drop,
            LatePolicy::Abort => reprise_worker::LatePolicy::Abort,
        },
        late_threshold: replay.late_threshold.get(),
        duration: replay.duration.map(reprise_crds::TimeSpan::get),
        threads: threads
            .or_else(|| available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN),
    };
    Ok(Planned { plan, load, warnings })
}

fn template(spec: &ReplayJobSpec) -> Result<Template, Failure> {
    let target = &spec.target;
    let api = match target.api {
        Api::Chat => template::Api::Chat,
        Api::Completions => template::Api::Completions,
        api => {
            return Err(Failure::Input(format!(
                "Cannot use target.api: {api:?} is not supported yet. Use chat or completions."
            )));
        }
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

fn warnings(spec: &ReplayJobSpec, prepared: &Prepared, schedule: &schedule::Schedule) -> Vec<Warning> {
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
    warn_if(
        spec.workers.replicas.get() > 1,
        "OneProcess",
        format!(
            "workers.replicas is {}; here the run was one process.",
            spec.workers.replicas
        ),
    );
    warnings
}

fn count_measured(schedule: &schedule::Schedule) -> u64 {
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
