//! The files of a result.

use std::path::{Path, PathBuf};

use reprise_contract::Summary;

use crate::atomic::{self, WriteError};
use crate::{html, job};

/// Where the files of a result are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `summary.json`: the whole summary.
    pub summary: PathBuf,
    /// `report.html`: the page.
    pub report: PathBuf,
    /// `effective-spec.yaml`: the whole `ReplayJob` as it ran, to run it again.
    pub spec: PathBuf,
}

/// A result that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] WriteError),
    /// The summary has no JSON.
    #[error("Cannot write the summary as JSON: {0}. This is a fault in Reprise.")]
    Json(#[from] serde_json::Error),
    /// The spec has no YAML.
    #[error("Cannot write the spec as YAML: {0}. This is a fault in Reprise.")]
    Yaml(#[from] serde_yaml::Error),
}

/// Writes every file of a result into `folder`, each whole or not at all. Files of these names are replaced.
///
/// # Errors
/// When the folder does not exist, is not writable, or is full.
pub fn write_all(folder: &Path, summary: &Summary) -> Result<Paths, ResultError> {
    let json = format!("{}\n", serde_json::to_string_pretty(summary)?);
    let spec = job::yaml(summary)?;
    Ok(Paths {
        summary: atomic::write(&folder.join("summary.json"), json.as_bytes())?,
        report: atomic::write(&folder.join("report.html"), html::render(summary).as_bytes())?,
        spec: atomic::write(&folder.join("effective-spec.yaml"), spec.as_bytes())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_file_is_written_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let summary = fixtures::summary(fixtures::input(20), &fixtures::streamed(0..20));
        let paths = write_all(folder.path(), &summary).unwrap();
        let json = std::fs::read_to_string(&paths.summary).unwrap();
        let read: Summary = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&read.counts, &read.spec, read.verdict),
            (&summary.counts, &summary.spec, summary.verdict)
        );
        assert_eq!(
            html::render(&read),
            std::fs::read_to_string(&paths.report).unwrap()
        );
        let spec: serde_json::Value = serde_yaml::from_slice(&std::fs::read(&paths.spec).unwrap()).unwrap();
        let job = serde_json::json!({
            "apiVersion": "reprise.dev/v1alpha1",
            "kind": "ReplayJob",
            "metadata": {"name": "chat-august"},
            "spec": summary.spec,
        });
        assert_eq!(spec, job);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let summary = fixtures::summary(fixtures::input(0), &[]);
        let error = write_all(&folder.path().join("none"), &summary).unwrap_err();
        assert!(error.to_string().starts_with("Cannot write "), "{error}");
    }
}
