//! The run file: the run that this process is for.

use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use reprise_crds::ReplayJobSpec;
use reprise_crds::document::{self, Overrides, Problems};
use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the file.
pub const SCHEMA_VERSION: &str = "reprise.dev/run/v1";

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The name of the `ReplayJob`.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Which attempt at it this is, from 1.
    pub attempt: NonZeroU32,
    /// What is to be done. It passed the schema and all rules; a version that the operator found is in it.
    pub spec: ReplayJobSpec,
}

/// A run file that cannot be used. `Display` is the whole message for people, one line a problem.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// It cannot be read.
    #[error("Cannot use {}: {source}. Mount the run file there, or name it in REPRISE_RUN_FILE.", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no run file.
    #[error("Cannot use {}: {source}. Write a run file of {SCHEMA_VERSION}.", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It is of another version.
    #[error("Cannot use {}: it is of version {found:?}, and this is for {SCHEMA_VERSION}. Use operator and dataset-manager of one version.", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// A field is empty.
    #[error("Cannot use {}: {field} is empty. Set it.", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
    },
    /// The spec is wrong.
    #[error("Cannot use {}:\n{}", path.display(), lines(problems))]
    Spec {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong.
        problems: Problems,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    schema_version: String,
    name: String,
    uid: String,
    attempt: NonZeroU32,
    spec: Value,
    resolved_version: Option<String>,
}

impl Run {
    /// Reads the run file at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is wrong.
    pub fn read(path: &Path) -> Result<Self, RunFileError> {
        let text = fs::read_to_string(path).map_err(|source| RunFileError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a run file; `path` is what errors call it.
    ///
    /// # Errors
    /// When it is wrong: everything that is wrong with its spec at once.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RunFileError> {
        let path = || path.to_owned();
        let written: Written =
            serde_json::from_str(text).map_err(|source| RunFileError::Shape { path: path(), source })?;
        if written.schema_version != SCHEMA_VERSION {
            return Err(RunFileError::Version {
                path: path(),
                found: written.schema_version,
            });
        }
        if written.uid.is_empty() {
            return Err(RunFileError::Empty {
                path: path(),
                field: "uid",
            });
        }
        let document = json!({
            "apiVersion": "reprise.dev/v1alpha1",
            "kind": "ReplayJob",
            "metadata": {"name": written.name},
            "spec": written.spec,
        });
        // JSON is YAML.
        let document = document::read(&document.to_string(), &Overrides::default()).map_err(|problems| {
            RunFileError::Spec {
                path: path(),
                problems,
            }
        })?;
        let mut spec = document.job.spec;
        if spec.dataset.version.is_none() {
            spec.dataset.version = written.resolved_version;
        }
        Ok(Self {
            name: written.name,
            uid: written.uid,
            attempt: written.attempt,
            spec,
        })
    }
}

/// The fields say where; the lines are those of a text that nobody has written.
fn lines(problems: &Problems) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(run: &Value) -> Result<Run, RunFileError> {
        Run::parse(&run.to_string(), Path::new("run.json"))
    }

    fn run() -> Value {
        json!({
            "schemaVersion": SCHEMA_VERSION,
            "name": "chat-august",
            "uid": "5f0c",
            "attempt": 1,
            "spec": {
                "dataset": {"source": "hf://acme/traces/chat.jsonl", "format": "mooncake_trace"},
                "target": {"urls": ["http://vllm:8000"]},
                "workers": {"replicas": 4},
            },
            "resolvedVersion": "3e1f0c0000000000000000000000000000000000",
        })
    }

    #[test]
    fn the_version_that_the_operator_found_is_used_where_the_spec_has_none() {
        let read = parse(&run()).unwrap();
        assert_eq!((read.name.as_str(), read.attempt.get()), ("chat-august", 1));
        let version = "3e1f0c0000000000000000000000000000000000";
        assert_eq!(read.spec.dataset.version.as_deref(), Some(version));
        let mut pinned = run();
        pinned["spec"]["dataset"]["version"] = json!("e".repeat(40));
        assert_eq!(parse(&pinned).unwrap().spec.dataset.version, Some("e".repeat(40)));
    }

    #[test]
    fn everything_that_is_wrong_with_the_spec_is_told_with_its_field() {
        let mut wrong = run();
        wrong["spec"]["replay"] = json!({"spede": 2, "latePolicy": "Maybe"});
        wrong["spec"]["target"]["urls"] = json!(["ftp://host"]);
        insta::assert_snapshot!(parse(&wrong).unwrap_err().to_string());
    }

    #[test]
    fn a_file_of_another_version_or_shape_is_refused() {
        let changed = |field: &str, value: Value| {
            let mut run = run();
            run[field] = value;
            parse(&run).unwrap_err().to_string()
        };
        let errors = [
            changed("schemaVersion", json!("reprise.dev/run/v2")),
            changed("uid", json!("")),
            changed("attempt", json!(0)),
            changed("extra", json!(1)),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}
