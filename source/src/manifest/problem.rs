//! What is wrong with a manifest, or with using it in a run, in words for people.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use super::requires::REPRISE_VERSION;
use super::{AIPERF_VERSION, EndpointKind, ManifestKind};

/// Why a trace cannot be used because of its manifest or sidecar. Follows `Cannot use <reference>: `.
///
/// Shows nothing of the manifest but short names of plain letters and versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    /// It is wrong in itself. Only its publisher can mend it.
    #[error("its {} {name} is not valid: {}. {}", .kind.noun(), joined(.faults, "; "), way_out(*.kind))]
    Invalid {
        /// Which of the two it is.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// What is wrong: the first 16 faults.
        faults: Vec<ManifestFault>,
    },
    /// It is valid, but does not fit the run, or this Reprise.
    #[error("{}", joined(.0, " Also, "))]
    Unmet(Vec<ManifestMismatch>),
}

fn joined(items: &[impl fmt::Display], between: &str) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(between)
}

fn way_out(kind: ManifestKind) -> &'static str {
    match kind {
        ManifestKind::Root => {
            "Its publisher has to correct it; until then, name the data file itself and its format."
        }
        ManifestKind::Sidecar => {
            "Its publisher has to correct it; until then, use a copy of the file without the sidecar."
        }
    }
}

/// One thing that is wrong with a manifest, and where: `requires.aiperf: must be a text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// The keys from the outermost on; empty for the whole of it.
    at: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Rule(&'static str),
    NotJson { line: usize, column: usize },
}

impl ManifestFault {
    pub(super) fn new(at: &str, what: &'static str) -> Self {
        Self {
            at: at.to_owned(),
            what: What::Rule(what),
        }
    }

    pub(super) fn of_all(what: &'static str) -> Self {
        Self::new("", what)
    }

    pub(super) fn not_json(line: usize, column: usize) -> Self {
        Self {
            at: String::new(),
            what: What::NotJson { line, column },
        }
    }

    /// The keys that lead there, with dots between them; empty for the whole manifest.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.at
    }
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str("it ")?,
            at => write!(f, "{at} ")?,
        }
        match self.what {
            What::Rule(what) => f.write_str(what),
            What::NotJson { line, column } => write!(f, "is not JSON (line {line}, column {column})"),
        }
    }
}

/// One thing in which a manifest and a run do not agree, with how to make them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestMismatch {
    /// Both name a format, and not the same.
    #[error(
        "its {} {name} declares the format {declared}, and the run asks for {asked}. Leave dataset.format out, or set \
         it to {declared}.", .kind.noun()
    )]
    Format {
        /// Manifest or sidecar.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// What it declares.
        declared: String,
        /// What the run asks for.
        asked: String,
    },
    /// A format of which Reprise knows nothing.
    #[error(
        "its {} {name} declares the format {declared}, which this version of Reprise does not read.{} It reads {}. \
         Use a newer Reprise, or ask the publisher for one of these.", .kind.noun(), did_you_mean(.nearest.as_deref()),
        listed(.known, "and")
    )]
    UnknownFormat {
        /// Manifest or sidecar.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// What it declares.
        declared: String,
        /// The format that was probably meant.
        nearest: Option<String>,
        /// Those that Reprise reads.
        known: Vec<String>,
    },
    /// Both name a block size, and not the same.
    #[error(
        "its {} {name} declares a block size of {declared}, and the run asks for {asked}. Leave \
         dataset.options.blockSize out, or set it to {declared}.", .kind.noun()
    )]
    BlockSize {
        /// Manifest or sidecar.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// What it declares, in tokens.
        declared: NonZeroU32,
        /// What the run asks for, in tokens.
        asked: NonZeroU32,
    },
    /// `requires.aiperf`
    #[error(
        "it requires AIPerf {versions}, and this version of Reprise reads the formats of AIPerf {AIPERF_VERSION}. Use a \
         version of Reprise that reads those, or a version of the trace that asks for less."
    )]
    Aiperf {
        /// Those that it allows.
        versions: String,
    },
    /// `requires.reprise`
    #[error(
        "it requires Reprise {versions}, and this is {REPRISE_VERSION}. Install a version that it allows."
    )]
    Reprise {
        /// Those that it allows.
        versions: String,
    },
    /// `requires.endpoint_types`
    #[error(
        "it requires an endpoint of type {}, and target.api is {}. {}",
        listed(.types, "or"), .api.name(), endpoint_fix(.types)
    )]
    Endpoint {
        /// As the manifest names them.
        types: Vec<String>,
        /// The run's.
        api: EndpointKind,
    },
}

/// Something that does not stop a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestWarning {
    /// A key that says nothing to Reprise.
    #[error(
        "its {} {name} has an unknown key{}, which is ignored.{}",
        .kind.noun(), .key.as_ref().map(|key| format!(" {key}")).unwrap_or_default(), did_you_mean(.nearest.as_deref())
    )]
    UnknownKey {
        /// Manifest or sidecar.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// The key, with those around it, unless it has unusual characters.
        key: Option<String>,
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    /// Further ones, where there are many.
    #[error("its {} {name} has {count} more unknown keys, which are ignored.", .kind.noun())]
    MoreUnknownKeys {
        /// Manifest or sidecar.
        kind: ManifestKind,
        /// The name of its file.
        name: String,
        /// How many.
        count: usize,
    },
    /// The trace has longer contexts than the run lets through.
    #[error(
        "it says that its contexts have up to {declared} tokens, and the run takes {limit} at most: longer ones will be \
         left out or refused."
    )]
    MaxContextTokens {
        /// What the trace needs, in tokens.
        declared: NonZeroU64,
        /// What the run allows, in tokens.
        limit: NonZeroU64,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" Did you mean {name}?"))
        .unwrap_or_default()
}

fn endpoint_fix(types: &[String]) -> String {
    let mut names: Vec<String> = Vec::new();
    for kind in types.iter().filter_map(|name| EndpointKind::of_name(name)) {
        if !names.iter().any(|name| name == kind.name()) {
            names.push(kind.name().to_owned());
        }
    }
    if names.is_empty() {
        "Reprise has none of that type: use another trace.".to_owned()
    } else {
        format!("Set target.api to {}.", listed(&names, "or"))
    }
}

/// `a, b and c`
fn listed(names: &[String], last: &str) -> String {
    match names {
        [] => "nothing".to_owned(),
        [name] => name.clone(),
        [names @ .., name] => format!("{} {last} {name}", names.join(", ")),
    }
}
