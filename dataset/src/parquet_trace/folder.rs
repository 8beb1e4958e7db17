//! Which files of a folder are the trace.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ParquetError, ParquetShard, ParquetTrace, has_magic, splits};

/// The folder that is read where there are several.
const READ: &str = "train";

/// What there is in a folder, in the order of names, without what lies beside data by custom.
#[derive(Default)]
struct Contents {
    shards: Vec<PathBuf>,
    others: Vec<String>,
    /// Folders that hold Parquet at any depth.
    folders: Vec<PathBuf>,
}

/// Finds the shards in a folder, or in the one folder below it that holds a dataset.
pub(super) fn find(root: &Path) -> Result<ParquetTrace, ParquetError> {
    let mut folder = root.to_owned();
    loop {
        let contents = Contents::read(&folder)?;
        if let Some(first) = contents.shards.first() {
            if !contents.folders.is_empty() {
                return Err(ParquetError::FilesAndFolders {
                    folders: contents.folders,
                });
            }
            if !contents.others.is_empty() {
                return Err(ParquetError::OtherFiles {
                    names: contents.others,
                    example: first.clone(),
                });
            }
            let shards = contents.shards.into_iter().map(|path| ParquetShard {
                name: relative(&path, root),
                path,
            });
            let (shards, warnings) = splits::choose(shards.collect())?;
            return Ok(ParquetTrace { shards, warnings });
        }
        folder = descend(folder, contents.folders)?;
    }
}

/// The folder below `folder` that holds the dataset.
fn descend(folder: PathBuf, mut folders: Vec<PathBuf>) -> Result<PathBuf, ParquetError> {
    let partitions: Vec<String> = folders
        .iter()
        .filter_map(|folder| folder.file_name().map(OsStr::to_string_lossy))
        .filter(|name| name.contains('='))
        .map(Into::into)
        .collect();
    if !partitions.is_empty() {
        return Err(ParquetError::Partitioned { folders: partitions });
    }
    let train = folders
        .iter()
        .position(|folder| folder.file_name() == Some(OsStr::new(READ)));
    match (folders.len(), train) {
        (0, _) => Err(ParquetError::NoParquet),
        (1, _) => Ok(folders.remove(0)),
        (_, Some(train)) => Ok(folders.swap_remove(train)),
        (_, None) => Err(ParquetError::SeveralDatasets {
            folder,
            datasets: folders,
        }),
    }
}

impl Contents {
    fn read(folder: &Path) -> Result<Self, ParquetError> {
        let mut contents = Self::default();
        for (path, name) in entries(folder)? {
            let metadata = path.metadata().map_err(|error| failed(&path, error))?;
            if metadata.is_dir() {
                if holds_parquet(&path)? {
                    contents.folders.push(path);
                }
            } else if metadata.is_file() && has_magic(&path).map_err(|error| failed(&path, error))? {
                contents.shards.push(path);
            } else {
                contents.others.push(name);
            }
        }
        Ok(contents)
    }
}

/// Whether there is Parquet in a folder, at any depth. Links to folders are not followed: they can go in circles.
fn holds_parquet(folder: &Path) -> Result<bool, ParquetError> {
    for (path, _) in entries(folder)? {
        let metadata = path.metadata().map_err(|error| failed(&path, error))?;
        let found = if metadata.is_dir() {
            !path.is_symlink() && holds_parquet(&path)?
        } else {
            metadata.is_file() && has_magic(&path).map_err(|error| failed(&path, error))?
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is in a folder that may be data, in the order of names.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, ParquetError> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries: Vec<_> = listed
        .map_err(|error| failed(folder, error))?
        .into_iter()
        .map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
        .filter(|(_, name)| !lies_beside_data(name))
        .collect();
    entries.sort();
    Ok(entries)
}

/// Names that readers of datasets leave alone: what Spark, Hive and Hugging Face write beside the data, and manifests.
fn lies_beside_data(name: &str) -> bool {
    let is_manifest = |manifest: &str| {
        name.strip_suffix(manifest)
            .is_some_and(|data| data.is_empty() || data.ends_with('.'))
    };
    let stem = name.split('.').next().unwrap_or_default();
    name.starts_with(['.', '_'])
        || Path::new(name).extension() == Some(OsStr::new("crc"))
        || is_manifest("aiperf.json")
        || is_manifest("reprise.json")
        || stem.eq_ignore_ascii_case("readme")
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

fn failed(path: &Path, error: io::Error) -> ParquetError {
    ParquetError::Io {
        path: path.to_owned(),
        error,
    }
}
