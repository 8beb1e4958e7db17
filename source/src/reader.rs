//! Access checks: from a reference to what is there, as which version.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Problem, SourceError};
use crate::guard::{Access, AddressRules};
use crate::http::HttpSource;
use crate::hub::{HubProblem, HubSettings, HubSource};
use crate::injected::InjectionProblem;
use crate::local_place::LocalPlace;
use crate::manifest::RunFacts;
use crate::origin::Origin;
use crate::pinned::{Pinned, PinnedBy};
use crate::reference::{HubPath, Place, Reference, S3Path};
use crate::remote::{Found, Remote, Shape};
use crate::s3::{S3Settings, S3Source};
use crate::selection::select;
use crate::shelf::Shelf;
use crate::version::Version;

/// What is wanted of a reference.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What the user wrote.
    pub reference: &'a Reference,
    /// The version that was chosen before, if one was.
    pub version: Option<&'a Version>,
    /// What it is to be.
    pub role: Role<'a>,
}

/// What a reference stands for in a run.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    /// The trace of a run that its publisher may have requirements on.
    Trace(&'a RunFacts<'a>),
    /// The tokenizer of the target's model.
    Tokenizer,
}

/// Why a version cannot be had of a reference. Prints what follows `Cannot use <reference>: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinProblem {
    /// A path has no versions.
    #[error(
        "a file on this machine has no versions, and dataset.version is {version}. Leave dataset.version out."
    )]
    Local {
        /// What was given.
        version: Version,
    },
    /// A version of another kind of source.
    #[error(
        "dataset.version is {version}, which is no version of such a source. Take what `reprise pin` says of this \
         reference."
    )]
    Kind {
        /// What was given.
        version: Version,
    },
    /// Reference and version name two different ones.
    #[error("it names the version {named}, and dataset.version is {version}. Keep one of the two.")]
    Disagree {
        /// In the reference.
        named: String,
        /// What was given beside it.
        version: Version,
    },
}

/// Reads metadata of remote places, and nothing else: for whoever pins and does not run.
#[derive(Clone, Debug)]
pub struct Reader {
    access: Access,
    /// `None` for what the environment says when a reference needs it.
    hub: Option<HubSettings>,
    s3: S3Settings,
}

impl Reader {
    /// Reads as the person at this machine, with whatever the environment, files and machine provide. They are looked at
    /// when a reference needs them.
    #[must_use]
    pub fn of_environment(s3: S3Settings) -> Self {
        Self {
            access: Access::Ambient,
            hub: None,
            s3,
        }
    }

    /// Reads as nobody in particular, for whoever pins on behalf of others: no credential, no proxy, nothing from the
    /// environment, files or the machine's metadata, and only what `rules` allow is connected to. `hub_endpoint` is that of
    /// a hub other than the public one.
    ///
    /// # Errors
    ///
    /// When the endpoint of the hub is no URL.
    pub fn anonymous(
        rules: AddressRules,
        hub_endpoint: Option<&str>,
        s3: S3Settings,
    ) -> Result<Self, HubProblem> {
        // It keeps nothing, so it has no cache.
        let hub = HubSettings::anonymous(hub_endpoint, PathBuf::new(), rules.clone())?;
        Ok(Self {
            access: Access::Anonymous(rules),
            hub: Some(hub),
            s3,
        })
    }

    #[cfg(test)]
    pub(crate) fn with_hub(self, hub: HubSettings) -> Self {
        Self {
            hub: Some(hub),
            ..self
        }
    }

    pub(crate) fn hub(&self) -> Result<HubSettings, HubProblem> {
        self.hub.clone().map_or_else(HubSettings::of_environment, Ok)
    }

    pub(crate) fn s3(&self) -> &S3Settings {
        &self.s3
    }

    /// The access check: the reference exists, may be read, is of this version, and its publisher allows this run. Reads
    /// metadata and the manifest, and keeps nothing.
    ///
    /// # Errors
    ///
    /// Whatever can be known to go wrong before a download.
    pub async fn pin(&self, wanted: &Wanted<'_>) -> Result<Pinned, SourceError> {
        let pin = async {
            let origin = self.origin(wanted.reference, wanted.version, None)?;
            let found = origin.look_up().await?;
            let found = check_version(found, wanted.version)?;
            let place = Shelf {
                reference: wanted.reference,
                origin: Some(&origin),
                keeping: None,
            };
            let selection = select(&place, &found, wanted.role).await?;
            Ok(Pinned {
                reference: wanted.reference.clone(),
                chosen: wanted.version.cloned(),
                chosen_by: pinned_by(wanted),
                found,
                selection,
                origin: Some(Arc::new(origin)),
            })
        };
        pin.await
            .map_err(|problem| SourceError::new(wanted.reference.clone(), problem))
    }

    /// The place that a reference leads to, in the version that was chosen. `known` is the newest version that is kept on
    /// this machine, which a server need not send again.
    pub(crate) fn origin(
        &self,
        reference: &Reference,
        version: Option<&Version>,
        known: Option<Version>,
    ) -> Result<Origin, Problem> {
        match (reference.place(), version) {
            (Place::Local(path), None) => Ok(Origin::Local(LocalPlace::new(path))),
            (Place::Local(_), Some(version)) => Err(PinProblem::Local {
                version: version.clone(),
            }
            .into()),
            (Place::Hub(path), version) => {
                let path = hub_path(path, version)?;
                Ok(Origin::Hub(HubSource::new(&path, &self.hub()?)?))
            }
            (Place::S3(path), version) => {
                let path = s3_path(path, version)?;
                Ok(Origin::S3(S3Source::new(
                    path,
                    self.s3.clone(),
                    self.access.clone(),
                )))
            }
            (Place::Http(url), None | Some(Version::ETag(_) | Version::LastModified { .. })) => {
                Ok(Origin::Http(HttpSource::new(url.clone(), &self.access, known)?))
            }
            (Place::Http(_), Some(version)) => Err(PinProblem::Kind {
                version: version.clone(),
            }
            .into()),
            (Place::Redacted(_), _) => Err(InjectionProblem::Missing.into()),
        }
    }
}

/// A repository at the commit that was chosen.
pub(crate) fn hub_path(path: &HubPath, version: Option<&Version>) -> Result<HubPath, Problem> {
    let Some(version) = version else {
        return Ok(path.clone());
    };
    let Version::Commit(commit) = version else {
        return Err(PinProblem::Kind {
            version: version.clone(),
        }
        .into());
    };
    match path.commit() {
        Some(named) if named != commit => Err(PinProblem::Disagree {
            named: named.to_owned(),
            version: version.clone(),
        }
        .into()),
        _ => Ok(path.at(commit, path.path())),
    }
}

/// An object in the version that was chosen. A tag or a listing is compared once it is known.
fn s3_path(path: &S3Path, version: Option<&Version>) -> Result<S3Path, Problem> {
    match version {
        None | Some(Version::ETag(_) | Version::Listing(_)) => Ok(path.clone()),
        Some(version @ Version::VersionId(id)) if !path.is_prefix() => match path.version_id() {
            Some(named) if named != id => Err(PinProblem::Disagree {
                named: named.to_owned(),
                version: version.clone(),
            }
            .into()),
            _ => Ok(path.object(path.key(), Some(id))),
        },
        Some(version) => Err(PinProblem::Kind {
            version: version.clone(),
        }
        .into()),
    }
}

/// What was found, if it is what was chosen. A tag also stands for the file that has it in a place that by now keeps
/// versions.
pub(crate) fn check_version(found: Found, chosen: Option<&Version>) -> Result<Found, Problem> {
    let Some(chosen) = chosen else {
        return Ok(found);
    };
    let has_tag = match (&found.shape, chosen) {
        (Shape::File(file), Version::ETag(tag)) => file.tag.as_ref() == Some(tag),
        _ => false,
    };
    if has_tag || found.version.as_ref() == Some(chosen) {
        Ok(found)
    } else {
        Err(Problem::Changed)
    }
}

/// Who chooses the version, when a source is asked.
pub(crate) fn pinned_by(wanted: &Wanted<'_>) -> PinnedBy {
    match (wanted.reference.is_pinned(), wanted.version) {
        (true, _) => PinnedBy::Reference,
        (false, Some(_)) => PinnedBy::Version,
        (false, None) => PinnedBy::Newest,
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    fn refusal(reader: &Reader, text: &str) -> String {
        let (reference, run) = (Reference::parse(text).unwrap(), RunFacts::default());
        let wanted = Wanted {
            reference: &reference,
            version: None,
            role: Role::Trace(&run),
        };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(reader.pin(&wanted)).unwrap_err().to_string()
    }

    #[test]
    fn who_pins_for_others_reaches_public_hosts_only() {
        let s3 = S3Settings::new(Some("http://127.0.0.1:9"), None, None).unwrap();
        let reader = Reader::anonymous(AddressRules::default(), Some("http://127.0.0.1:9"), s3).unwrap();
        for text in [
            "http://127.0.0.1:9/trace.jsonl",
            "http://169.254.169.254/latest/meta-data",
            "hf://acme/traces",
            "s3://traces/chat.jsonl",
        ] {
            let refusal = refusal(&reader, text);
            assert!(
                refusal.contains("resolves to an address that is not public"),
                "{refusal}"
            );
        }
    }
}
