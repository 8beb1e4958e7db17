//! The files of a trace on this machine: a file, or what [`layout`](crate::layout) chooses in a folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Problem, SourceError};
use crate::layout::{
    Chosen, Entry, LayoutProblem, LayoutWarning, ReferenceTo, choose_in_folder, choose_manifest_path,
    is_named_parquet, lies_beside_data, plain,
};
use crate::reference::Reference;

/// What a Parquet file begins with.
const MAGIC: [u8; 4] = *b"PAR1";

/// A trace on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTrace {
    /// Its files, in the order in which they are read; at least one. Several are Parquet.
    pub files: Vec<LocalFile>,
    /// What to know of how they were chosen.
    pub warnings: Vec<LayoutWarning>,
}

/// A file of a trace on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its name, with the folders between it and the trace's own.
    pub name: String,
    /// Whether it is Parquet. The first bytes tell; in a folder, a name that ends in `.parquet` does too.
    pub is_parquet: bool,
}

/// Finds the files that a path names: itself, or the Parquet shards in it. Pipes are not read from, and what is not there
/// is left for whoever opens it to say.
///
/// # Errors
///
/// When a folder holds no Parquet, several datasets or files of another kind, or when the disk fails.
pub fn find_local(path: &Path) -> Result<LocalTrace, SourceError> {
    if !path.is_dir() {
        return Ok(LocalTrace::file(path));
    }
    choose(path, &list(path)?, choose_in_folder)
}

/// Finds the files that the `path` of a manifest in `folder` names. It does not leave the folder.
///
/// # Errors
///
/// As [`find_local`]; and when there is nothing at that path.
pub(crate) fn find_local_manifest_path(folder: &Path, path: &str) -> Result<LocalTrace, SourceError> {
    let path = plain(path);
    let named = folder.join(path);
    if named.is_file() {
        return Ok(LocalTrace::file(&named));
    }
    let mut files = Vec::new();
    if named.is_dir() {
        files = list(&named)?;
        if files.is_empty() {
            let path = path.to_owned();
            return Err(cannot_use(folder, LayoutProblem::PathWithoutParquet { path }));
        }
    }
    if !path.is_empty() {
        for file in &mut files {
            file.name = format!("{path}/{}", file.name);
        }
    }
    choose(folder, &files, |entries, reference_to| {
        choose_manifest_path(entries, path, reference_to)
    })
}

impl LocalTrace {
    fn file(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let file = LocalFile {
            name: name.to_string_lossy().into_owned(),
            // Whoever opens it as another kind of file says why that does not work.
            is_parquet: path.is_file() && has_magic(path).unwrap_or(false),
            path: path.to_owned(),
        };
        Self {
            files: vec![file],
            warnings: Vec::new(),
        }
    }
}

fn choose(
    folder: &Path,
    files: &[LocalFile],
    choose: impl FnOnce(&[Entry<'_>], ReferenceTo<'_>) -> Result<Chosen, LayoutProblem>,
) -> Result<LocalTrace, SourceError> {
    let entries: Vec<Entry<'_>> = files
        .iter()
        .map(|file| Entry {
            path: &file.name,
            is_parquet: file.is_parquet,
        })
        .collect();
    let reference = Reference::of_path(folder);
    let Chosen {
        files: chosen,
        warnings,
    } = choose(&entries, &|path| reference.below(path).to_string())
        .map_err(|problem| cannot_use(folder, problem))?;
    let files = chosen
        .iter()
        .filter_map(|index| files.get(*index))
        .cloned()
        .collect();
    Ok(LocalTrace { files, warnings })
}

/// All files in a folder, at any depth, without what lies beside data by custom.
fn list(folder: &Path) -> Result<Vec<LocalFile>, SourceError> {
    let mut files = Vec::new();
    list_into(&mut files, folder, "", &mut Vec::new())?;
    Ok(files)
}

/// `below` is the path of `folder` below the listed one, with a slash. `ancestors` are the folders that it lies in: links
/// can go in circles.
fn list_into(
    files: &mut Vec<LocalFile>,
    folder: &Path,
    below: &str,
    ancestors: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    let canonical = folder.canonicalize().map_err(|error| failed(folder, error))?;
    if ancestors.contains(&canonical) {
        return Ok(());
    }
    ancestors.push(canonical);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(|error| failed(folder, error))? {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if lies_beside_data(&name) {
            continue;
        }
        let metadata = path.metadata().map_err(|error| failed(&path, error))?;
        let below = format!("{below}{name}");
        if metadata.is_dir() {
            list_into(files, &path, &format!("{below}/"), ancestors)?;
            continue;
        }
        let is_parquet = metadata.is_file()
            && (is_named_parquet(&name) || has_magic(&path).map_err(|error| failed(&path, error))?);
        files.push(LocalFile {
            path,
            name: below,
            is_parquet,
        });
    }
    ancestors.pop();
    Ok(())
}

/// Whether a file that starts with these bytes is a Parquet file.
#[must_use]
pub fn is_parquet(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Whether the file begins as Parquet does.
fn has_magic(path: &Path) -> io::Result<bool> {
    let mut start = Vec::with_capacity(MAGIC.len());
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(is_parquet(&start))
}

fn cannot_use(folder: &Path, problem: LayoutProblem) -> SourceError {
    SourceError::new(Reference::of_path(folder), problem.into())
}

fn failed(path: &Path, error: io::Error) -> SourceError {
    SourceError::new(Reference::of_path(path), Problem::from_file(error))
}

#[cfg(test)]
mod tests;
