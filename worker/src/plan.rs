//! All that a replay needs to know.

use std::num::NonZeroUsize;
use std::time::Duration;

use reprise_content::schedule::Schedule;
use reprise_content::store::Content;
use reprise_content::template::Template;
use reprise_contract::plan::LatePolicy;

use crate::headers::RequestHeaders;
use crate::target::Target;

/// All that a replay needs to know. [`reprise_content::template::check`] has passed for its content.
pub struct Plan {
    /// What requests say.
    pub content: Content,
    /// When they go.
    pub schedule: Schedule,
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
    /// How long to send, from the moment the first measured request is due.
    pub duration: Option<Duration>,
    /// How many threads send, one runtime each.
    pub threads: NonZeroUsize,
}
