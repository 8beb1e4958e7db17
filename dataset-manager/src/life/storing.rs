//! Stores the result where the spec and the environment want it.

use std::path::{Path, PathBuf};

use reprise_contract::protocol::{Progress, Stage};

use super::failure::Failure;
use crate::run_file::Run;
use crate::server::Server;
use crate::settings::Settings;
use crate::storage::{AttemptFolder, ResultStore, ResultsCredentials};

/// Where the result goes: nowhere, a folder, a bucket, or both.
pub(super) struct Stores(Vec<ResultStore>);

impl Stores {
    pub(super) fn of(settings: &Settings, run: &Run) -> Result<Self, Failure> {
        let mut stores = Vec::new();
        let s3 = run.spec.results.s3.as_ref();
        if settings.results_dir.is_none() && s3.is_none() {
            return Ok(Self(stores));
        }
        let attempt = AttemptFolder::new(&run.name, &run.uid, run.attempt.get())
            .map_err(|error| Failure::StorageSettings(error.to_string()))?;
        if let Some(folder) = &settings.results_dir {
            stores.push(ResultStore::directory(folder, &attempt));
        }
        if let Some(s3) = s3 {
            let credentials = ResultsCredentials::from_variables(|name| std::env::var(name).ok());
            let credentials = credentials
                .map_err(|problem| Failure::StorageSettings(format!("Cannot store results in {}: {problem}", s3.url)))?;
            stores.push(ResultStore::s3(s3, credentials, &attempt)?);
        }
        Ok(Self(stores))
    }

    /// Finds out early whether they take anything.
    pub(super) async fn check(&self) -> Result<(), Failure> {
        for store in &self.0 {
            store.check().await?;
        }
        Ok(())
    }

    /// Stores every file of `folder`.
    pub(super) async fn store(&self, folder: &Path, server: &Server) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let files = files(folder).map_err(Failure::System)?;
        for store in &self.0 {
            let stored = {
                let show = |done, total| {
                    server.at(
                        Stage::Storing,
                        Some(Progress {
                            done,
                            total: Some(total),
                            unit: "bytes".to_owned(),
                        }),
                    );
                };
                store.store(&files, &show).await?
            };
            tracing::info!("The result is stored in {}", stored.place);
        }
        Ok(())
    }
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.iter().map(std::fs::DirEntry::path).collect())
}
