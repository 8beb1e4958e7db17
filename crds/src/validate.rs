//! The rules that a schema cannot state: between fields, and inside texts. Pure: the command line and the operator both
//! use them.

use std::collections::BTreeMap;
use std::time::Duration;

use reprise_contract::credentials::is_credential_name;
use url::Url;

use crate::document::Problem;
use crate::duration::TimeSpan;
use crate::headers::{self, Refusal};
use crate::path::FieldPath;
use crate::spec::{
    Api, Dataset, DatasetOptions, LatePolicy, Replay, ReplayJobSpec, Results, Schedule, Slo, Target,
    TraceFormat, Window,
};

const NO_CREDENTIALS: &str = "Take it out. target.headersFrom, which reads a Secret, is not supported yet.";
/// Longer than any header is called.
const MAX_HEADER_NAME: usize = 256;
/// As `model` and `modelOverride` in the schema.
const MAX_MODEL_NAME: usize = 512;
/// The longest that a dataset-manager prepares, and that it waits for its result to be read.
const DAY: Duration = Duration::from_hours(24);

/// Every rule that `spec` breaks, in the order of the spec. Bounds and texts that the schema refuses are checked there.
#[must_use]
pub fn validate(spec: &ReplayJobSpec) -> Vec<Problem> {
    let root = FieldPath::spec();
    let mut problems = Vec::new();
    problems.extend(dataset(&spec.dataset, &root.key("dataset")));
    problems.extend(target(&spec.target, &root.key("target")));
    problems.extend(replay(&spec.replay, &root.key("replay")));
    problems.extend(
        spec.slo
            .iter()
            .flat_map(|objectives| slo(objectives, &root.key("slo"))),
    );
    problems.extend(results(&spec.results, &root.key("results")));
    problems
}

/// The options that `format` does not take, of those that are given.
#[must_use]
pub fn options_not_taken(options: &DatasetOptions, format: TraceFormat) -> Vec<&'static str> {
    let DatasetOptions {
        block_size,
        timestamp_unit: _,
        keep_headers,
        unknown_columns: _,
    } = options;
    match format {
        TraceFormat::MooncakeTrace if !keep_headers.is_empty() => vec!["keepHeaders"],
        TraceFormat::WorkloadTrace if block_size.is_some() => vec!["blockSize"],
        TraceFormat::MooncakeTrace | TraceFormat::WorkloadTrace => Vec::new(),
    }
}

fn dataset(dataset: &Dataset, path: &FieldPath) -> Vec<Problem> {
    let mut problems = Vec::new();
    let references = [
        ("source", Some(&dataset.source)),
        ("tokenizer", dataset.tokenizer.as_ref()),
    ];
    problems.extend(
        references
            .into_iter()
            .filter(|(_, reference)| reference.is_some_and(|reference| has_user_info(reference)))
            .map(|(field, _)| user_info(path.key(field))),
    );
    let endpoint = dataset.s3.as_ref().and_then(|s3| s3.endpoint.as_deref());
    problems.extend(endpoint.and_then(|text| endpoint_url(text, path.key("s3").key("endpoint"))));
    let untaken = dataset
        .format
        .map(|format| (format, options_not_taken(&dataset.options, format)));
    problems.extend(untaken.into_iter().flat_map(|(format, names)| {
        let options = path.key("options");
        names.into_iter().map(move |name| {
            Problem::new(options.key(name), format!("is not an option of {format}")).hint("Leave it out.")
        })
    }));
    let budget = path.key("startupBudget");
    problems.extend(positive(dataset.startup_budget, budget.clone()));
    problems.extend(
        dataset
            .startup_budget
            .and_then(|span| longer_than_a_day(span, budget)),
    );
    problems
}

fn has_user_info(reference: &str) -> bool {
    Url::parse(reference).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

fn user_info(path: FieldPath) -> Problem {
    Problem::new(path, "has a user name or password in its URL")
        .hint("Take it out: a spec is no place for credentials.")
}

fn target(target: &Target, path: &FieldPath) -> Vec<Problem> {
    let mut problems = Vec::new();
    let urls = path.key("urls");
    problems.extend(
        target
            .urls
            .iter()
            .enumerate()
            .filter_map(|(index, text)| target_url(text, urls.index(index))),
    );
    match target.api {
        Api::Chat | Api::Completions => {}
        Api::Responses | Api::Embeddings | Api::Rerank | Api::Raw => {
            problems
                .push(Problem::new(path.key("api"), "not supported yet").hint("Use chat or completions."));
        }
    }
    problems.extend(empty(target.model.as_deref(), path.key("model")));
    problems.extend(empty(target.model_override.as_deref(), path.key("modelOverride")));
    let mapping = path.key("modelMapping");
    for (recorded, sent) in &target.model_mapping {
        let entry = mapping.key(recorded.as_str());
        problems.extend(too_long(recorded, MAX_MODEL_NAME, &entry).or_else(|| empty(Some(sent), entry)));
    }
    problems.extend(headers(&target.headers, &path.key("headers")));
    problems.extend(positive(Some(target.timeout), path.key("timeout")));
    problems
}

/// A store's URL has a host and perhaps a port and a path, and nothing that could be a credential.
fn endpoint_url(text: &str, path: FieldPath) -> Option<Problem> {
    let has_query = Url::parse(text).is_ok_and(|url| url.query().is_some());
    if has_query {
        return Some(Problem::new(path, "has a query").hint("Leave out what begins with ?."));
    }
    target_url(text, path)
}

fn target_url(text: &str, path: FieldPath) -> Option<Problem> {
    // The parser would take them out, and the URL that is sent to would not be the one that was written.
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Some(Problem::new(path, "has a space or a line end in it").hint("Take it out."));
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            return Some(Problem::new(path, "has no scheme").hint("Start it with http:// or https://."));
        }
        Err(error) => return Some(Problem::new(path, format!("is not a URL: {error}"))),
    };
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("has the scheme {}", url.scheme());
        return Some(Problem::new(path, message).hint("Start it with http:// or https://."));
    }
    if has_user_info(text) {
        return Some(user_info(path));
    }
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| is_credential_name(name)) {
        let message = format!("has the credential {name:?} in its query, and results name the URL");
        return Some(Problem::new(path, message).hint(NO_CREDENTIALS));
    }
    if url.fragment().is_some() {
        return Some(
            Problem::new(path, "has a fragment").hint("Leave out what begins with #: it is never sent."),
        );
    }
    None
}

fn empty(text: Option<&str>, path: FieldPath) -> Option<Problem> {
    (text == Some("")).then(|| Problem::new(path, "must not be empty"))
}

/// The schema bounds values; the names in a map are beyond what it can say.
fn too_long(name: &str, limit: usize, path: &FieldPath) -> Option<Problem> {
    let length = name.chars().count();
    let message = || format!("has a name of {length} characters, and may have {limit} at most");
    (length > limit).then(|| Problem::new(path.clone(), message()))
}

fn headers(headers: &BTreeMap<String, String>, path: &FieldPath) -> Vec<Problem> {
    let mut seen = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in headers {
        let entry = path.key(name.as_str());
        if let Some(first) = seen.insert(name.to_ascii_lowercase(), name) {
            let message = format!("is the same header as {first}: case makes no difference");
            problems.push(Problem::new(entry, message).hint("Keep one of the two."));
        } else {
            problems.extend(too_long(name, MAX_HEADER_NAME, &entry).or_else(|| header(name, value, entry)));
        }
    }
    problems
}

fn header(name: &str, value: &str, path: FieldPath) -> Option<Problem> {
    match headers::refusal(name) {
        Some(Refusal::Credential) => {
            Some(Problem::new(path, "carries credentials, which a spec is no place for").hint(NO_CREDENTIALS))
        }
        Some(Refusal::Connection) => {
            Some(Problem::new(path, "is set by the connection itself").hint("Leave it out."))
        }
        Some(Refusal::Encoding) => Some(
            Problem::new(path, "says how bodies are compressed")
                .hint("Leave it out: bodies are sent as they are, and answers are timed as they come."),
        ),
        Some(Refusal::NotAName) => {
            Some(Problem::new(path, "is not a header name").hint("Use letters, digits and - only."))
        }
        None if !headers::is_value(value) => Some(
            Problem::new(path, "has a control character, such as a line end, in its value")
                .hint("Take it out."),
        ),
        None => None,
    }
}

fn positive(span: Option<TimeSpan>, path: FieldPath) -> Option<Problem> {
    span.filter(|span| span.is_zero())
        .map(|_| Problem::new(path, "must be more than 0s"))
}

fn longer_than_a_day(span: TimeSpan, path: FieldPath) -> Option<Problem> {
    (span.get() > DAY).then(|| Problem::new(path, "must be at most 24h"))
}

fn replay(replay: &Replay, path: &FieldPath) -> Vec<Problem> {
    let mut problems = schedule(replay, path);
    problems.extend(
        replay
            .window
            .as_ref()
            .and_then(|window| window_end(window, &path.key("window"))),
    );
    problems.extend(positive(replay.duration, path.key("duration")));
    problems.extend(never_in_time(replay, path.key("lateThreshold")));
    problems
}

/// A request is sent after it is due, if only by nanoseconds: with no room at all, none would be in time.
fn never_in_time(replay: &Replay, path: FieldPath) -> Option<Problem> {
    let policy = match replay.late_policy {
        LatePolicy::CatchUp => return None,
        LatePolicy::Drop => "Drop",
        LatePolicy::Abort => "Abort",
    };
    let message = format!("must be more than 0s with latePolicy {policy}: no request is ever sent 0s late");
    replay
        .late_threshold
        .is_zero()
        .then(|| Problem::new(path, message).hint("Give at least 1ms, or take latePolicy CatchUp."))
}

/// What may stand beside which schedule.
fn schedule(replay: &Replay, path: &FieldPath) -> Vec<Problem> {
    let given_rate = replay.rate.is_some();
    let given_concurrency = replay.concurrency.is_some();
    let needed = |name: &str, schedule: &str| {
        Problem::new(path.key(name), format!("is required by schedule {schedule}"))
    };
    let unwanted = |name: &str, schedule: &str| {
        Problem::new(path.key(name), format!("has no meaning with schedule {schedule}"))
            .hint("Leave it out, or take another schedule.")
    };
    let mut problems = Vec::new();
    match replay.schedule {
        Schedule::Auto if given_rate && given_concurrency => problems.push(
            Problem::new(path.key("concurrency"), "cannot be given together with rate")
                .hint("Keep one of the two."),
        ),
        Schedule::Auto => {}
        Schedule::Recorded => {
            problems.extend(given_rate.then(|| unwanted("rate", "Recorded")));
            problems.extend(given_concurrency.then(|| unwanted("concurrency", "Recorded")));
        }
        Schedule::Rate => {
            problems.extend((!given_rate).then(|| needed("rate", "Rate")));
            problems.extend(given_concurrency.then(|| unwanted("concurrency", "Rate")));
            problems.extend(about_recorded_times(replay, path, "Rate"));
        }
        Schedule::Concurrency => {
            problems.extend((!given_concurrency).then(|| needed("concurrency", "Concurrency")));
            problems.extend(given_rate.then(|| unwanted("rate", "Concurrency")));
            problems.extend(about_recorded_times(replay, path, "Concurrency"));
        }
        Schedule::Users => problems.push(
            Problem::new(path.key("schedule"), "not supported yet")
                .hint("Use Recorded, Rate or Concurrency."),
        ),
    }
    problems
}

/// What acts on recorded times, beside a schedule that has none.
fn about_recorded_times(replay: &Replay, path: &FieldPath, schedule: &str) -> Vec<Problem> {
    let speed = (replay.speed != crate::PositiveNumber::default()).then_some("speed");
    let window = replay.window.is_some().then_some("window");
    let message = format!("acts on recorded times, which schedule {schedule} does not use");
    let given = speed.into_iter().chain(window);
    given
        .map(|name| Problem::new(path.key(name), message.as_str()).hint("Leave it out."))
        .collect()
}

fn window_end(window: &Window, path: &FieldPath) -> Option<Problem> {
    let end = window.end.filter(|end| *end <= window.start)?;
    let message = format!(
        "must be later than start, and {end} is not later than {}",
        window.start
    );
    Some(Problem::new(path.key("end"), message))
}

fn slo(slo: &Slo, path: &FieldPath) -> Vec<Problem> {
    if *slo == Slo::default() {
        let hint = "Give ttft, interTokenLatency or requestLatency.";
        return vec![Problem::new(path.clone(), "has no objective in it").hint(hint)];
    }
    let objectives = [
        ("ttft", slo.ttft),
        ("interTokenLatency", slo.inter_token_latency),
        ("requestLatency", slo.request_latency),
    ];
    objectives
        .into_iter()
        .filter_map(|(name, span)| positive(span, path.key(name)))
        .collect()
}

fn results(results: &Results, path: &FieldPath) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(longer_than_a_day(results.hold, path.key("hold")));
    if let Some(s3) = &results.s3 {
        let path = path.key("s3");
        let folder = s3.folder().err();
        problems
            .extend(folder.map(|error| Problem::new(path.key("url"), error.to_string()).hint(error.hint())));
        let endpoint = s3.endpoint.as_deref();
        problems.extend(endpoint.and_then(|text| endpoint_url(text, path.key("endpoint"))));
    }
    problems
}

#[cfg(test)]
mod tests;
