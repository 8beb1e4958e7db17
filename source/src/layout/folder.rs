//! From a folder down to the one that holds the shards.

use std::collections::BTreeSet;

use super::problem::{LayoutProblem, Subject, printable};
use super::siblings::lies_beside_data;
use super::{Chosen, Entry, LayoutWarning, ReferenceTo, splits};

/// The split, or the folder, that is read where there are several.
pub(super) const READ: &str = "train";

/// What the hub puts before a split's name where it converted only the first part of it.
const PARTIAL: &str = "partial-";

/// How many names of files stand in a message as examples.
const EXAMPLES: usize = 3;

/// Chooses among the files of a listing.
pub(super) struct Chooser<'a> {
    pub(super) listing: &'a [Entry<'a>],
    pub(super) subject: Subject,
    pub(super) reference_to: ReferenceTo<'a>,
}

/// What there is in a folder, in the order of names, without what lies beside data by custom.
struct Contents<'a> {
    shards: Vec<Shard<'a>>,
    /// The names of files of other kinds.
    others: Vec<&'a str>,
    /// The names of folders that hold Parquet at any depth.
    folders: BTreeSet<&'a str>,
}

/// A Parquet file of the folder.
#[derive(Clone, Copy)]
pub(super) struct Shard<'a> {
    /// Where it stands in the listing.
    pub(super) index: usize,
    /// Its path in the listing.
    pub(super) path: &'a str,
}

impl<'a> Contents<'a> {
    /// `folder` is nothing, or has a slash at its end, here and below.
    fn of(listing: &'a [Entry<'a>], folder: &str) -> Self {
        let mut contents = Self {
            shards: Vec::new(),
            others: Vec::new(),
            folders: BTreeSet::new(),
        };
        for (index, entry) in listing.iter().enumerate() {
            // An object that stands for a folder has a slash at its end, or no name at all.
            let Some(rest) = entry.path.strip_prefix(folder) else {
                continue;
            };
            if rest.is_empty() || rest.ends_with('/') {
                continue;
            }
            if rest.split('/').any(lies_beside_data) {
                continue;
            }
            match (rest.split_once('/'), entry.is_parquet) {
                (None, true) => contents.shards.push(Shard {
                    index,
                    path: entry.path,
                }),
                (None, false) => contents.others.push(rest),
                (Some((folder, _)), true) => {
                    contents.folders.insert(folder);
                }
                (Some(_), false) => {}
            }
        }
        contents.shards.sort_unstable_by_key(|shard| shard.path);
        contents.others.sort_unstable();
        contents
    }
}

impl<'a> Chooser<'a> {
    /// Chooses in `root`, or in the one folder below it that holds a dataset.
    pub(super) fn choose(&self, root: &str) -> Result<Chosen, LayoutProblem> {
        let mut folder = root.to_owned();
        let mut warnings = Vec::new();
        loop {
            let contents = Contents::of(self.listing, &folder);
            if !contents.shards.is_empty() {
                let (shards, of_splits) = self.shards(&folder, contents)?;
                warnings.extend(of_splits);
                return Ok(Chosen {
                    files: shards.iter().map(|shard| shard.index).collect(),
                    warnings,
                });
            }
            let name = self.descend(&folder, &contents.folders, &mut warnings)?;
            folder = format!("{folder}{name}/");
        }
    }

    /// The shards to read in the folder that holds them.
    fn shards(
        &self,
        folder: &str,
        contents: Contents<'a>,
    ) -> Result<(Vec<Shard<'a>>, Vec<LayoutWarning>), LayoutProblem> {
        if !contents.folders.is_empty() {
            let folders = contents
                .folders
                .into_iter()
                .map(|name| self.reference(folder, name));
            return Err(LayoutProblem::FilesAndFolders {
                subject: self.subject.clone(),
                folders: folders.collect(),
            });
        }
        if let ([first, ..], [_, ..]) = (contents.shards.as_slice(), contents.others.as_slice()) {
            return Err(LayoutProblem::OtherFiles {
                subject: self.subject.clone(),
                names: contents.others.iter().map(|name| printable(name)).collect(),
                example: self.reference("", first.path),
            });
        }
        splits::choose(contents.shards, &self.subject, &|path| self.reference("", path))
    }

    /// The name of the folder in `folder` that holds the dataset.
    fn descend<'n>(
        &self,
        folder: &str,
        folders: &BTreeSet<&'n str>,
        warnings: &mut Vec<LayoutWarning>,
    ) -> Result<&'n str, LayoutProblem> {
        let partitions: Vec<String> = folders
            .iter()
            .filter(|name| name.contains('='))
            .map(|name| printable(name))
            .collect();
        if let Some(first) = folders.iter().find(|name| name.contains('=')) {
            return Err(LayoutProblem::Partitioned {
                subject: self.subject.clone(),
                folders: partitions,
                example: self.reference(folder, first),
            });
        }
        let mut names = folders.iter().copied();
        match (names.next(), folders.len()) {
            (None, _) => Err(self.nothing_to_read()),
            (Some(only), 1) => {
                if only.starts_with(PARTIAL) {
                    warnings.push(LayoutWarning::PartlyConverted {
                        folder: printable(only),
                    });
                }
                Ok(only)
            }
            (Some(_), _) => {
                let Some(train) = folders.get(READ) else {
                    return Err(LayoutProblem::SeveralDatasets {
                        subject: self.subject.clone(),
                        folder: self.reference(folder.trim_end_matches('/'), ""),
                        datasets: folders.iter().map(|name| self.reference(folder, name)).collect(),
                    });
                };
                let left_out = folders.iter().filter(|name| **name != READ);
                warnings.push(LayoutWarning::FoldersLeftOut {
                    read: READ.to_owned(),
                    left_out: left_out.map(|name| printable(name)).collect(),
                });
                Ok(train)
            }
        }
    }

    fn nothing_to_read(&self) -> LayoutProblem {
        match &self.subject {
            Subject::Folder if self.listing.is_empty() => LayoutProblem::Empty,
            Subject::Folder => LayoutProblem::NothingToRead {
                examples: examples(self.listing, self.reference_to),
            },
            Subject::ManifestFolder(path) => LayoutProblem::PathWithoutParquet { path: path.clone() },
        }
    }

    /// A ready reference to `name` in `folder`, for a message.
    fn reference(&self, folder: &str, name: &str) -> String {
        printable(&(self.reference_to)(&format!("{folder}{name}")))
    }
}

/// Ready references to some files that may be data, for a message.
pub(super) fn examples(listing: &[Entry<'_>], reference_to: ReferenceTo<'_>) -> Vec<String> {
    let mut data: Vec<&str> = listing
        .iter()
        .map(|entry| entry.path)
        .filter(|path| {
            !path.is_empty()
                && !path
                    .split('/')
                    .any(|part| part.is_empty() || lies_beside_data(part))
        })
        .collect();
    data.sort_unstable();
    data.truncate(EXAMPLES);
    data.into_iter()
        .map(|path| printable(&reference_to(path)))
        .collect()
}
