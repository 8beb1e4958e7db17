//! What is there without a network.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{HubCache, cannot_use};
use crate::error::Problem;
use crate::hub::git::{BlobName, is_commit};
use crate::hub::listing::split;
use crate::hub::problem::HubProblem;
use crate::hub::source::found;
use crate::remote::{Found, RemoteFile, Shape};
use crate::version::Version;

impl HubCache {
    /// The access check, answered by the cache: the commit that a branch or tag stood for last, and the files that are
    /// there of it.
    ///
    /// # Errors
    ///
    /// [`HubProblem::NotCached`] when nothing is there of what the reference names.
    pub(crate) fn look_up_offline(&self) -> Result<Found, Problem> {
        let commit = self.commit_offline().ok_or(HubProblem::NotCached)?;
        let snapshot = self.snapshot(&commit);
        let path = self.path.path();
        let target = snapshot.join(path);
        let shape = if target.is_file() {
            if self.path.is_folder() {
                return Err(HubProblem::NotAFolder.into());
            }
            Shape::File(file(&snapshot, &target, split(path).0)?)
        } else if let Some(files) = self.listing(&commit) {
            Shape::Folder(files)
        } else if target.is_dir() {
            Shape::Folder(files(&snapshot, &target, path)?)
        } else {
            return Err(HubProblem::NotCached.into());
        };
        Ok(found(&self.path, commit, shape))
    }

    /// A file beside the one that was found, if the cache has it.
    pub(crate) fn beside_offline(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        let (Shape::File(named), Some(Version::Commit(commit))) = (&found.shape, &found.version) else {
            return Ok(None);
        };
        let snapshot = self.snapshot(commit);
        let folder = split(&named.location).0;
        let path = snapshot.join(folder).join(name);
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(file(&snapshot, &path, folder)?))
    }

    fn commit_offline(&self) -> Option<String> {
        let commit = match self.reference() {
            Some(path) => fs::read_to_string(path).ok()?.trim().to_owned(),
            None => self.path.revision()?.to_owned(),
        };
        is_commit(&commit).then(|| commit.to_ascii_lowercase())
    }
}

/// All files of a snapshot below a folder, in the order of names.
fn files(snapshot: &Path, target: &Path, folder: &str) -> Result<Vec<RemoteFile>, HubProblem> {
    let mut files = Vec::new();
    let mut folders = vec![target.to_owned()];
    while let Some(next) = folders.pop() {
        for path in paths(&next).map_err(cannot_use(&next))? {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(file(snapshot, &path, folder)?);
            }
        }
    }
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

/// A file of a snapshot. A link whose blob was removed is one that is not there.
fn file(snapshot: &Path, path: &Path, folder: &str) -> Result<RemoteFile, HubProblem> {
    let size = fs::metadata(path).map_err(|_| HubProblem::NotCached)?.len();
    let location = path
        .strip_prefix(snapshot)
        .ok()
        .and_then(Path::to_str)
        .ok_or(HubProblem::NotCached)?;
    let name = location
        .strip_prefix(folder)
        .unwrap_or(location)
        .trim_start_matches('/');
    // A copy, where there are no links, has lost the name of its blob.
    let blob = fs::read_link(path)
        .ok()
        .and_then(|target| BlobName::parse(target.file_name()?.to_str()?));
    Ok(RemoteFile {
        name: name.to_owned(),
        location: location.to_owned(),
        size: Some(size),
        sha256: blob.as_ref().and_then(BlobName::sha256),
        tag: blob.map(|blob| blob.to_string()),
    })
}
