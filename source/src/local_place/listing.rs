//! All files in a folder on this machine.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::Problem;
use crate::layout::{is_named_parquet, lies_beside_data};

/// What a Parquet file begins with.
const MAGIC: [u8; 4] = *b"PAR1";

/// The paths of all files below `root` at any depth, with `/` between their parts and in the order of names. Folders
/// that lie beside data by custom (`.git`, `_temporary`) are left out.
pub(super) fn list(root: &Path) -> Result<Vec<String>, Problem> {
    let mut files = Vec::new();
    list_into(&mut files, root, "", &mut Vec::new())?;
    files.sort_unstable();
    Ok(files)
}

/// `below` is the path of `folder` below the listed one, with a slash. `ancestors` are the folders that it lies in: links
/// can go in circles.
fn list_into(
    files: &mut Vec<String>,
    folder: &Path,
    below: &str,
    ancestors: &mut Vec<PathBuf>,
) -> Result<(), Problem> {
    let failed = |error| Problem::in_folder(folder, error);
    let canonical = folder.canonicalize().map_err(failed)?;
    if ancestors.contains(&canonical) {
        return Ok(());
    }
    ancestors.push(canonical);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let metadata = path
            .metadata()
            .map_err(|error| Problem::in_folder(&path, error))?;
        let below = format!("{below}{name}");
        if !metadata.is_dir() {
            files.push(below);
        } else if !lies_beside_data(&name) {
            list_into(files, &path, &format!("{below}/"), ancestors)?;
        }
    }
    ancestors.pop();
    Ok(())
}

/// Whether a file is Parquet: its first bytes tell, and so does a name that ends in `.parquet`. One that cannot be read is
/// none; whoever opens it says why.
pub(super) fn is_parquet_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let is_named = name.is_some_and(|name| is_named_parquet(&name));
    path.is_file() && (is_named || has_magic(path).unwrap_or(false))
}

/// Whether a file that starts with these bytes is a Parquet file.
#[must_use]
pub fn is_parquet(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

fn has_magic(path: &Path) -> io::Result<bool> {
    let mut start = Vec::with_capacity(MAGIC.len());
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(is_parquet(&start))
}
