//! What a reference to the hub names, and its bytes.

use super::api::{Api, Pinned};
use super::git::is_commit;
use super::listing::{Entry, split};
use super::problem::HubProblem;
use super::settings::HubSettings;
use super::transfer::Transfer;
use crate::error::Problem;
use crate::http::client::Patience;
use crate::reference::HubPath;
use crate::remote::{Body, Found, Remote, RemoteFile, Shape, Span};
use crate::version::Version;

/// The revision that a reference means when it names none.
pub(super) const DEFAULT_REVISION: &str = "main";

/// A file or folder of a repository.
pub(crate) struct HubSource {
    path: HubPath,
    api: Api,
    transfer: Transfer,
}

impl HubSource {
    pub(crate) fn new(path: &HubPath, settings: &HubSettings) -> Result<Self, Problem> {
        Self::patient(path, settings, Patience::of(&settings.access))
    }

    pub(super) fn patient(
        path: &HubPath,
        settings: &HubSettings,
        patience: Patience,
    ) -> Result<Self, Problem> {
        Ok(Self {
            path: path.clone(),
            transfer: Transfer::new(settings, &patience)?,
            api: Api::new(path.clone(), settings, patience)?,
        })
    }

    async fn pin(&self) -> Result<Pinned, Problem> {
        let revision = self.path.revision().unwrap_or(DEFAULT_REVISION);
        match self.api.pin(revision).await {
            Ok(pinned) if is_commit(revision) && !pinned.commit.eq_ignore_ascii_case(revision) => {
                Err(HubProblem::Answer.into())
            }
            Err(Problem::Hub(HubProblem::RepositoryNotFound(mut missing))) => {
                missing.instead = self.api.other_kind().await;
                Err(HubProblem::RepositoryNotFound(missing).into())
            }
            other => other,
        }
    }

    async fn shape(&self, commit: &str) -> Result<Shape, Problem> {
        let path = self.path.path();
        if !path.is_empty() {
            match self.api.entry(commit, path).await? {
                Some(Entry::Directory { .. }) => {}
                Some(Entry::File { .. }) if self.path.is_folder() => {
                    return Err(HubProblem::NotAFolder.into());
                }
                Some(entry) => {
                    let file = entry.into_file(split(path).0)?;
                    return file.map(Shape::File).ok_or(HubProblem::PathNotFound.into());
                }
                None => return Err(HubProblem::PathNotFound.into()),
            }
        }
        let entries = self.api.tree(commit, path).await?;
        let files: Result<Vec<_>, _> = entries
            .into_iter()
            .filter_map(|entry| entry.into_file(path).transpose())
            .collect();
        let mut files = files?;
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(Shape::Folder(files))
    }
}

impl Remote for HubSource {
    async fn look_up(&self) -> Result<Found, Problem> {
        let pinned = self.pin().await?;
        if pinned.is_gated {
            self.api.check_access().await?;
        }
        let shape = self.shape(&pinned.commit).await?;
        Ok(found(&self.path, pinned.commit, shape))
    }

    async fn beside(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        if self.path.path().is_empty() {
            return Ok(None);
        }
        let (folder, _) = split(self.path.path());
        let path = match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        match self.api.entry(commit(found)?, &path).await {
            Ok(Some(entry)) => Ok(entry.into_file(folder)?),
            Ok(None) => Ok(None),
            // It was there when it was pinned.
            Err(Problem::Hub(HubProblem::RevisionNotFound | HubProblem::RepositoryNotFound(_))) => {
                Err(Problem::Changed)
            }
            Err(problem) => Err(problem),
        }
    }

    async fn read(&self, found: &Found, file: &RemoteFile, span: Span) -> Result<Body, Problem> {
        self.transfer.read(&self.api, commit(found)?, file, span).await
    }
}

/// All that is known of a commit of what a reference names.
pub(super) fn found(path: &HubPath, commit: String, shape: Shape) -> Found {
    Found {
        canonical: Some(path.at(&commit, path.path()).to_string()),
        version: Some(Version::Commit(commit)),
        shape,
    }
}

/// What the hub's files are pinned by.
pub(super) fn commit(found: &Found) -> Result<&str, Problem> {
    match &found.version {
        Some(Version::Commit(commit)) => Ok(commit),
        // Found by something else than this module.
        _ => Err(Problem::Changed),
    }
}
