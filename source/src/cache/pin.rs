//! Pins: what a place was found to hold, so that an offline run finds it as it was.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use reprise_contract::Digest;
use serde::{Deserialize, Serialize};

use super::disk;
use super::layout::{Layout, make_folder};
use super::place::{PlaceKey, digest};
use super::problem::CacheProblem;
use crate::reference::redact;
use crate::remote::{Found, RemoteFile, Shape};
use crate::version::Version;

/// What a place held in one version, as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) found: Found,
    /// The files beside it that were there: manifests and sidecars.
    pub(crate) beside: Vec<RemoteFile>,
}

/// A [`Remembered`] as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pin {
    /// For people; redacted.
    place: String,
    #[serde(with = "super::text")]
    version: Version,
    canonical: Option<String>,
    is_folder: bool,
    files: Vec<File>,
    beside: Vec<File>,
    /// The keys of the files that a run needed. Without them the pin is of no use.
    pub(super) needs: Vec<String>,
    #[serde(with = "super::text")]
    seen: Timestamp,
}

/// A [`RemoteFile`] as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct File {
    name: String,
    location: String,
    size: Option<u64>,
    sha256: Option<Digest>,
    tag: Option<String>,
}

impl From<&RemoteFile> for File {
    fn from(file: &RemoteFile) -> Self {
        Self {
            name: redact(&file.name),
            location: redact(&file.location),
            size: file.size,
            sha256: file.sha256,
            tag: file.tag.clone(),
        }
    }
}

impl From<File> for RemoteFile {
    fn from(file: File) -> Self {
        let File {
            name,
            location,
            size,
            sha256,
            tag,
        } = file;
        Self {
            name,
            location,
            size,
            sha256,
            tag,
        }
    }
}

impl Pin {
    pub(super) fn new(
        place: &PlaceKey,
        version: Version,
        found: &Found,
        beside: &[RemoteFile],
        needs: Vec<String>,
    ) -> Self {
        let (is_folder, files) = match &found.shape {
            Shape::File(file) => (false, vec![File::from(file)]),
            Shape::Folder(files) => (true, files.iter().map(File::from).collect()),
        };
        Self {
            place: place.to_string(),
            version,
            canonical: found.canonical.as_deref().map(redact),
            is_folder,
            files,
            beside: beside.iter().map(File::from).collect(),
            needs,
            seen: Timestamp::now(),
        }
    }

    pub(super) fn write(&self, layout: &Layout, place: &PlaceKey) -> Result<(), CacheProblem> {
        let folder = layout.pins_of(place.digest());
        make_folder(&folder)?;
        disk::sync_folder_of(&folder)?;
        let name = digest([self.version.to_string().as_str()]).to_string();
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?;
        let path = folder.join(name).with_added_extension("json");
        Ok(disk::write(&layout.tmp, &path, &bytes)?)
    }

    /// All pins of a place that make sense, the one that was seen last first.
    pub(super) fn all(layout: &Layout, place: &PlaceKey) -> Result<Vec<Self>, CacheProblem> {
        let mut pins: Vec<Self> = Vec::new();
        let folder = layout.pins_of(place.digest());
        for file in disk::if_there(fs::read_dir(folder))?.into_iter().flatten() {
            pins.extend(Self::read(&file?.path())?);
        }
        pins.sort_by_key(|pin| std::cmp::Reverse(pin.seen));
        Ok(pins)
    }

    /// `None` when there is none, or none that makes sense.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CacheProblem> {
        let bytes = disk::read_if_there(path)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn version(&self) -> &Version {
        &self.version
    }

    /// `None` when it says that it is of a file and names none.
    pub(super) fn remembered(self) -> Option<Remembered> {
        let mut files: Vec<_> = self.files.into_iter().map(RemoteFile::from).collect();
        let shape = if self.is_folder {
            Shape::Folder(files)
        } else {
            Shape::File(files.pop()?)
        };
        Some(Remembered {
            found: Found {
                version: Some(self.version),
                canonical: self.canonical,
                shape,
            },
            beside: self.beside.into_iter().map(RemoteFile::from).collect(),
        })
    }
}
