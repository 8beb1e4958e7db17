//! Repositories of the Hugging Face hub.
//!
//! What is asked of the hub and when: `source` says so, in `Remote`'s terms. The API's calls and answers are in `api`, the
//! transfer of bytes is in `transfer`, and what a refusal means is in `refusal`. `cache` keeps files in the layout that all
//! Hugging Face tools share, and `usage` says how large that is; `settings` is the only place that looks at the environment.

mod api;
mod cache;
mod git;
mod listing;
mod problem;
mod refusal;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod token;
mod transfer;
mod usage;

pub(crate) use cache::HubCache;
pub use problem::{HubProblem, MissingRepository};
pub(crate) use settings::HubSettings;
pub(crate) use source::HubSource;
pub use token::TokenOrigin;
pub use usage::HubCacheUsage;
