//! Which files of a folder are the trace: one decision for a folder on this machine, a repository on the hub and a
//! prefix in a bucket, made from the names in it alone and so before anything is downloaded.

mod folder;
mod problem;
mod siblings;
mod splits;
#[cfg(test)]
mod tests;
mod warning;

pub use problem::{LayoutProblem, Subject};
pub(crate) use siblings::{is_named_parquet, lies_beside_data};
pub use warning::LayoutWarning;

use folder::Chooser;

/// A file in the listing of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Its path below the folder, with `/` between the parts.
    pub(crate) path: &'a str,
    pub(crate) is_parquet: bool,
}

#[cfg(test)]
impl<'a> Entry<'a> {
    /// A file that nothing but its name is known of.
    pub(crate) fn named(path: &'a str) -> Self {
        Self {
            path,
            is_parquet: is_named_parquet(path),
        }
    }
}

/// The files that are the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Where they stand in the listing, in the order in which they are read; at least one.
    pub(crate) files: Vec<usize>,
    pub(crate) warnings: Vec<LayoutWarning>,
}

/// Makes a reference that can be used as it is out of a path below the folder; of the folder itself out of nothing.
pub(crate) type ReferenceTo<'a> = &'a dyn Fn(&str) -> String;

/// The trace in a folder without a manifest: shards of Parquet, in the folder itself or in one below it.
///
/// # Errors
///
/// When there are none, or when the names do not say which are meant.
pub(crate) fn choose_in_folder(
    listing: &[Entry<'_>],
    reference_to: ReferenceTo<'_>,
) -> Result<Chosen, LayoutProblem> {
    Chooser {
        listing,
        subject: Subject::Folder,
        reference_to,
    }
    .choose("")
}

/// What the `path` of a manifest names in the manifest's own folder: a file of any kind, or a folder of Parquet shards.
///
/// # Errors
///
/// When it is not there, or is a folder from which no shards can be chosen.
pub(crate) fn choose_manifest_path(
    listing: &[Entry<'_>],
    path: &str,
    reference_to: ReferenceTo<'_>,
) -> Result<Chosen, LayoutProblem> {
    let path = plain(path);
    if let Some(file) = listing.iter().position(|entry| entry.path == path) {
        return Ok(Chosen {
            files: vec![file],
            warnings: Vec::new(),
        });
    }
    let folder = if path.is_empty() {
        String::new()
    } else {
        format!("{path}/")
    };
    if !listing.iter().any(|entry| entry.path.starts_with(&folder)) {
        return Err(LayoutProblem::PathMissing {
            path: problem::printable(path),
        });
    }
    Chooser {
        listing,
        subject: Subject::ManifestFolder(if path.is_empty() {
            "./".to_owned()
        } else {
            problem::printable(path)
        }),
        reference_to,
    }
    .choose(&folder)
}

/// A manifest's path as listings write it: `./data/` is `data`, and `.` is nothing.
pub(crate) fn plain(path: &str) -> &str {
    let mut path = path.trim_end_matches('/');
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    if path == "." { "" } else { path }
}
