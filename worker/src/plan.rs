//! All that a replay needs to know.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use reprise_content::schedule::Schedule;
use reprise_content::store::Content;
use reprise_content::template::Template;
use reprise_contract::plan::{LatePolicy, PlanHead};

use crate::headers::{RequestHeaders, RequestHeadersError};
use crate::target::{Target, TargetError};

/// All that a replay needs to know. [`reprise_content::template::check`] has passed for its content.
pub struct Plan {
    /// What requests say.
    pub content: Content,
    /// When they go.
    pub schedule: Schedule,
    /// The number that each has in the whole plan, which its outcome names.
    pub numbers: RequestNumbers,
    /// How bodies are made of turns.
    pub template: Template,
    /// Where they go; sessions take turns. At least one.
    pub targets: Vec<Target>,
    /// Headers of every request.
    pub headers: RequestHeaders,
    /// The longest that one request may take, from the moment it is to go to the end of its answer; connecting included.
    pub timeout: Duration,
    /// What to do with late requests.
    pub late_policy: LatePolicy,
    /// What counts as late.
    pub late_threshold: Duration,
    /// How long to send, from the moment the first measured request of the whole plan is due.
    pub duration: Option<Duration>,
    /// When that is, in nanoseconds since T0. `None` in a closed loop, where it is when it goes.
    pub measured_from_ns: Option<i64>,
    /// How many threads send, one runtime each.
    pub threads: NonZeroUsize,
}

/// Which requests of the whole plan a schedule holds.
#[derive(Clone, Debug)]
pub struct RequestNumbers {
    /// By index in the schedule. `None` where the schedule is the whole.
    of_shard: Option<Vec<u32>>,
}

/// A head, content and schedule that no plan can be made of: all that is wrong with them.
#[derive(Debug)]
pub struct PlanError {
    /// Each problem; at least one.
    pub problems: Vec<PlanProblem>,
}

/// One thing that is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanProblem {
    /// A target that requests cannot be posted to.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// No target.
    #[error("Cannot use the plan: it names no target. Set target.urls.")]
    NoTarget,
    /// A header that HTTP does not allow.
    #[error(transparent)]
    Header(#[from] RequestHeadersError),
    /// A shard whose parts do not belong together.
    #[error(
        "Cannot use the shard: it numbers {numbers} requests, and its schedule has {requests}. Fetch it again from a \
         manager of this version."
    )]
    Numbers {
        /// Requests with a number.
        numbers: usize,
        /// Requests of the schedule.
        requests: usize,
    },
}

impl Plan {
    /// What `head` says of all requests, for those of `schedule`, whose turns are in `content`.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn new(
        head: &PlanHead,
        content: Content,
        schedule: Schedule,
        numbers: RequestNumbers,
        threads: NonZeroUsize,
    ) -> Result<Self, PlanError> {
        let mut problems = Vec::new();
        let mut targets = Vec::new();
        for url in &head.targets {
            match Target::parse(url, head.template.api) {
                Ok(target) => targets.push(target),
                Err(error) => problems.push(error.into()),
            }
        }
        if head.targets.is_empty() {
            problems.push(PlanProblem::NoTarget);
        }
        let (headers, refused) = RequestHeaders::checked(pairs(&head.headers));
        problems.extend(refused.into_iter().map(PlanProblem::from));
        problems.extend(numbers.problem_with(&schedule));
        if !problems.is_empty() {
            return Err(PlanError { problems });
        }
        Ok(Self {
            content,
            schedule,
            numbers,
            template: head.template.clone(),
            targets,
            headers,
            timeout: head.timeout,
            late_policy: head.late_policy,
            late_threshold: head.late_threshold,
            duration: head.duration,
            measured_from_ns: head.measured_from_ns,
            threads,
        })
    }
}

fn pairs(headers: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

impl RequestNumbers {
    /// The schedule is the whole plan's: each request's index is its number.
    #[must_use]
    pub fn whole() -> Self {
        Self { of_shard: None }
    }

    /// The schedule is a part of it: request `i` has number `numbers[i]`.
    #[must_use]
    pub fn of_shard(numbers: Vec<u32>) -> Self {
        Self {
            of_shard: Some(numbers),
        }
    }

    /// The number of the request in place `index` of the schedule.
    pub(crate) fn of(&self, index: u32) -> u32 {
        let of_shard = self.of_shard.as_deref();
        of_shard.map_or(index, |numbers| numbers[index as usize])
    }

    fn problem_with(&self, schedule: &Schedule) -> Option<PlanProblem> {
        let numbers = self.of_shard.as_ref()?.len();
        let requests = schedule.requests.len();
        (numbers != requests).then_some(PlanProblem::Numbers { numbers, requests })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}
