//! The way from a reference to files on this machine: access check, first record, download, verification.

use std::env;
use std::sync::Arc;

use bytes::Bytes;
use reprise_contract::Digest;

use crate::cache::{Cache, CacheSettings, PlaceKey};
use crate::download::{Download, check_kept, digest_of_kept};
use crate::environment::says_yes;
use crate::error::{Problem, SourceError};
use crate::fetched::{Fetched, FetchedFile};
use crate::hub::HubCache;
use crate::injected::InjectionProblem;
use crate::keeping::Keeping;
use crate::local_place::LocalPlace;
use crate::pinned::{Pinned, PinnedBy};
use crate::progress::{FetchProgress, FileProgress};
use crate::reader::{Reader, Wanted, check_version, hub_path, pinned_by};
use crate::reference::{Place, Reference};
use crate::remote::{Remote, RemoteFile};
use crate::s3::S3Settings;
use crate::selection::select;
use crate::shelf::Shelf;
use crate::store::{Kept, Store};
use crate::version::Version;
use crate::warning::SourceWarning;

/// Finds, fetches and keeps what references name.
#[derive(Clone, Debug)]
pub struct Library {
    reader: Reader,
    /// The cache; `None` for the one that the environment says.
    cache: Option<CacheSettings>,
    is_offline: bool,
}

impl Library {
    /// Everything as the environment says: credentials, caches, and whether the network may be touched
    /// (`REPRISE_OFFLINE`, `HF_HUB_OFFLINE`). What a reference does not need is not looked at.
    #[must_use]
    pub fn of_environment(s3: S3Settings) -> Self {
        Self {
            is_offline: is_true("REPRISE_OFFLINE") || is_true("HF_HUB_OFFLINE"),
            ..Self::online(Reader::of_environment(s3))
        }
    }

    pub(crate) fn online(reader: Reader) -> Self {
        Self {
            reader,
            cache: None,
            is_offline: false,
        }
    }

    /// With another cache for S3 and HTTP than the one that the environment says.
    #[must_use]
    pub fn with_cache(self, cache: CacheSettings) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }

    /// The access check: it exists, may be read, is of this version, and its publisher allows this run. Nothing but metadata
    /// and the manifest is read, and offline nothing at all outside the cache.
    ///
    /// # Errors
    ///
    /// Whatever can be known to go wrong before a download.
    pub async fn pin(&self, wanted: &Wanted<'_>) -> Result<Pinned, SourceError> {
        let is_remote = wanted.reference.local_path().is_none();
        let pinned = if self.is_offline && is_remote {
            self.pin_offline(wanted).await
        } else {
            self.pin_online(wanted).await
        };
        pinned.map_err(|problem| SourceError::new(wanted.reference.clone(), problem))
    }

    async fn pin_online(&self, wanted: &Wanted<'_>) -> Result<Pinned, Problem> {
        let reference = wanted.reference;
        let keeping = self.keeping(reference, wanted.version)?;
        let newest = keeping.newest()?;
        let known = newest.as_ref().and_then(|newest| newest.version.clone());
        let origin = self.reader.origin(reference, wanted.version, known)?;
        let mut found = check_version(origin.look_up().await?, wanted.version)?;
        if let Some(newest) = newest
            && newest.version == found.version
        {
            // A server that has nothing new says no more than that.
            found = newest;
        }
        let place = Shelf {
            reference,
            origin: Some(&origin),
            keeping: Some(&keeping),
        };
        let mut selection = select(&place, &found, wanted.role).await?;
        let is_unversioned = found.version.is_none() && matches!(reference.place(), Place::Http(_));
        selection
            .warnings
            .extend(is_unversioned.then_some(SourceWarning::Unversioned));
        Ok(Pinned {
            reference: reference.clone(),
            chosen: wanted.version.cloned(),
            chosen_by: pinned_by(wanted),
            found,
            selection,
            origin: Some(Arc::new(origin)),
        })
    }

    async fn pin_offline(&self, wanted: &Wanted<'_>) -> Result<Pinned, Problem> {
        let reference = wanted.reference;
        let keeping = self.keeping(reference, wanted.version)?;
        let found = match &keeping {
            Keeping::Hub(cache) => Some(cache.look_up_offline()?),
            _ => keeping.recall(wanted.version.cloned().or_else(|| version_id(reference)).as_ref())?,
        };
        let found = check_version(found.ok_or(Problem::NotKept)?, wanted.version)?;
        let place = Shelf {
            reference,
            origin: None,
            keeping: Some(&keeping),
        };
        let mut selection = select(&place, &found, wanted.role).await?;
        let pinned_by = match pinned_by(wanted) {
            PinnedBy::Newest => PinnedBy::NewestKept,
            named => named,
        };
        if pinned_by == PinnedBy::NewestKept {
            selection.warnings.push(SourceWarning::NewestKept);
        }
        Ok(Pinned {
            reference: reference.clone(),
            chosen: wanted.version.cloned(),
            chosen_by: pinned_by,
            found,
            selection,
            origin: None,
        })
    }

    /// The first bytes of the first file as they are stored, at most `limit`; fewer only where there are no more.
    ///
    /// # Errors
    ///
    /// When they cannot be read, or are no longer of the pinned version.
    pub async fn start(&self, pinned: &Pinned, limit: u64) -> Result<Bytes, SourceError> {
        let start = async {
            let keeping = self.keeping(&pinned.reference, pinned.chosen.as_ref())?;
            let place = Shelf {
                reference: &pinned.reference,
                origin: pinned.origin.as_deref(),
                keeping: Some(&keeping),
            };
            let file = pinned.selection.files.first().ok_or(Problem::Stopped)?;
            place.start(&pinned.found, file, limit).await
        };
        start.await.map_err(|problem| pinned.error(problem))
    }

    /// Fetches the first file alone, so that it can be looked into. It is not fetched again.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_first(
        &self,
        pinned: &Pinned,
        progress: &FetchProgress,
    ) -> Result<FetchedFile, SourceError> {
        let files = &pinned.selection.files[..pinned.selection.files.len().min(1)];
        let mut fetched = self.fetch_files(pinned, files, progress).await?;
        fetched.pop().ok_or_else(|| pinned.error(Problem::Stopped))
    }

    /// Fetches what is not there yet, and verifies it. What is on this machine anyway stays where it is.
    ///
    /// Dropping the future ends a download at once; what has come is kept, and the next call goes on from there.
    ///
    /// # Errors
    ///
    /// When a file cannot be had in the pinned version, or is not what its publisher or source says.
    pub async fn fetch(&self, pinned: &Pinned, progress: &FetchProgress) -> Result<Fetched, SourceError> {
        let files = self
            .fetch_files(pinned, &pinned.selection.files, progress)
            .await?;
        let remember = || {
            self.keeping(&pinned.reference, pinned.chosen.as_ref())?
                .remember(&pinned.found, &pinned.selection)
        };
        remember().map_err(|problem| pinned.error(problem))?;
        Ok(Fetched { files })
    }

    async fn fetch_files(
        &self,
        pinned: &Pinned,
        files: &[RemoteFile],
        progress: &FetchProgress,
    ) -> Result<Vec<FetchedFile>, SourceError> {
        let fetch = async {
            let keeping = Arc::new(self.keeping(&pinned.reference, pinned.chosen.as_ref())?);
            let expected: Vec<_> = files.iter().map(|file| progress.expect(file.size)).collect();
            let mut fetched = Vec::with_capacity(files.len());
            for (file, progress) in files.iter().zip(expected) {
                let kept = fetch_or_find(pinned, &keeping, file, progress).await?;
                fetched.push(FetchedFile {
                    reference: pinned.reference.clone(),
                    name: file.name.clone(),
                    sha256: digest(&kept, pinned.is_local()).await?,
                    bytes: if pinned.is_local() {
                        file.size
                    } else {
                        Some(kept.bytes)
                    },
                    path: kept.path,
                    _in_use: kept.in_use,
                });
            }
            Ok(fetched)
        };
        fetch.await.map_err(|problem| pinned.error(problem))
    }

    fn cache(&self) -> Result<Cache, Problem> {
        let settings = match &self.cache {
            Some(settings) => Ok(settings.clone()),
            None => CacheSettings::from_variables(|name| env::var_os(name)),
        };
        settings.and_then(Cache::open).map_err(Problem::Cache)
    }

    fn keeping(&self, reference: &Reference, chosen: Option<&Version>) -> Result<Keeping, Problem> {
        Ok(match reference.place() {
            Place::Local(path) => Keeping::InPlace(LocalPlace::new(path)),
            Place::Http(url) => Keeping::Cache(self.cache()?.at(PlaceKey::of_url(url))),
            Place::S3(path) => Keeping::Cache(
                self.cache()?
                    .at(PlaceKey::of_object(path, self.reader.s3().endpoint_text())),
            ),
            Place::Hub(path) => Keeping::Hub(HubCache::new(
                self.reader.hub()?.cache(),
                &hub_path(path, chosen)?,
            )),
            Place::Redacted(_) => return Err(InjectionProblem::Missing.into()),
        })
    }
}

async fn fetch_or_find(
    pinned: &Pinned,
    keeping: &Arc<Keeping>,
    file: &RemoteFile,
    progress: FileProgress,
) -> Result<Kept, Problem> {
    let declared = pinned.declared_sha256();
    let Some(origin) = &pinned.origin else {
        let kept = keeping.find(&pinned.found, file)?.ok_or(Problem::NotKept)?;
        return check_kept(kept, declared).await;
    };
    let store = Arc::clone(keeping) as Arc<dyn Store>;
    let download = Download::new(&**origin, store, &pinned.found);
    download.file(file, declared, progress).await
}

/// The digest of a file whose store has none on record: small ones of the hub. What is on this machine anyway is hashed
/// while it is read.
async fn digest(kept: &Kept, is_local: bool) -> Result<Option<Digest>, Problem> {
    if is_local || kept.sha256.is_some() {
        return Ok(kept.sha256);
    }
    digest_of_kept(kept).await.map(Some)
}

/// The version that a reference to an object names.
fn version_id(reference: &Reference) -> Option<Version> {
    let id = reference.s3_path()?.version_id()?;
    Some(Version::VersionId(id.to_owned()))
}

fn is_true(name: &str) -> bool {
    env::var(name).is_ok_and(|value| says_yes(&value))
}
