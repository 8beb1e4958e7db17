//! The files that are made from the types: the CRD and the reference page. The example `write-crds` writes them.

mod crd;
mod reference;

pub use crd::crd_yaml;
pub use reference::reference_markdown;

/// Where the CRD stands, from the root of the repository.
pub const CRD_FILE: &str = "crds/generated/replayjobs.yaml";
/// Where the reference page stands, from the root of the repository.
pub const REFERENCE_FILE: &str = "docs/reference/replayjob.md";
/// What writes both.
pub const COMMAND: &str = "cargo run -p reprise-crds --example write-crds";
