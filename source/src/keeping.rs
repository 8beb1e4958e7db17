//! Where the files of one reference are kept, whatever kind of place they come from.

use std::fs;

use bytes::Bytes;
use reprise_contract::Digest;

use crate::cache::CachedPlace;
use crate::digest::Hasher;
use crate::download::DownloadProblem;
use crate::error::Problem;
use crate::hub::HubCache;
use crate::local_place::LocalPlace;
use crate::remote::{Found, RemoteFile};
use crate::selection::Selection;
use crate::store::{Claim, Kept, Store};
use crate::version::Version;

/// One variant a store.
pub(crate) enum Keeping {
    /// What is on this machine stays where it is.
    InPlace(LocalPlace),
    Cache(CachedPlace),
    Hub(HubCache),
}

impl Keeping {
    /// What the place held when it was seen last, if all of it is still kept.
    pub(crate) fn newest(&self) -> Result<Option<Found>, Problem> {
        self.recall(None)
    }

    /// The same, of one version.
    pub(crate) fn recall(&self, version: Option<&Version>) -> Result<Option<Found>, Problem> {
        let Self::Cache(cache) = self else {
            return Ok(None);
        };
        let remembered = match version {
            Some(version) => cache.of_version(version)?,
            None => cache.newest()?,
        };
        Ok(remembered.map(|remembered| remembered.found))
    }

    /// Remembers what a place held, now that what a run needs of it is kept.
    pub(crate) fn remember(&self, found: &Found, selection: &Selection) -> Result<(), Problem> {
        let Self::Cache(cache) = self else {
            return Ok(());
        };
        let manifest = selection.manifest.iter().map(|read| read.file.clone());
        let beside: Vec<_> = manifest.clone().collect();
        let needs: Vec<_> = selection.files.iter().cloned().chain(manifest).collect();
        cache.remember(found, &beside, &needs)
    }

    /// A file beside the one that was found, as far as the store knows.
    pub(crate) fn beside(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        match self {
            Self::InPlace(_) => Ok(None),
            Self::Cache(cache) => {
                let version = found.version.as_ref();
                let remembered = version
                    .map(|version| cache.of_version(version))
                    .transpose()?
                    .flatten();
                let beside = remembered.map(|remembered| remembered.beside).unwrap_or_default();
                Ok(beside.into_iter().find(|file| file.name == name))
            }
            Self::Hub(cache) => cache.beside_offline(found, name),
        }
    }

    /// Keeps a small file that was read whole. While another process writes it, it is left to that one.
    pub(crate) fn keep(&self, found: &Found, file: &RemoteFile, bytes: &Bytes) -> Result<(), Problem> {
        let Some(claim) = self.claim(found, file)? else {
            return Ok(());
        };
        fs::write(&claim.partial, bytes).map_err(|error| DownloadProblem::of_write(error, &claim.partial))?;
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        self.publish(found, file, claim, hasher.digest()).map(|_| ())
    }
}

impl Store for Keeping {
    fn find(&self, found: &Found, file: &RemoteFile) -> Result<Option<Kept>, Problem> {
        match self {
            Self::InPlace(place) => place.find(file).map(Some),
            Self::Cache(cache) => cache.find(found, file),
            Self::Hub(cache) => cache.find(found, file),
        }
    }

    fn claim(&self, found: &Found, file: &RemoteFile) -> Result<Option<Claim>, Problem> {
        match self {
            Self::InPlace(_) => Ok(None),
            Self::Cache(cache) => cache.claim(found, file),
            Self::Hub(cache) => cache.claim(found, file),
        }
    }

    fn publish(
        &self,
        found: &Found,
        file: &RemoteFile,
        claim: Claim,
        sha256: Digest,
    ) -> Result<Kept, Problem> {
        match self {
            Self::InPlace(place) => place.find(file),
            Self::Cache(cache) => cache.publish(found, file, claim, sha256),
            Self::Hub(cache) => cache.publish(found, file, claim, sha256),
        }
    }
}
