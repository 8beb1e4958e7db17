//! Repositories, as git and the hub keep them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::Hub;

/// What the hub keeps in large file storage whatever its size, as the `.gitattributes` of a new repository says.
const LARGE: [&str; 12] = [
    "7z",
    "arrow",
    "bin",
    "bz2",
    "gz",
    "npz",
    "parquet",
    "pickle",
    "safetensors",
    "tar",
    "zip",
    "zst",
];
/// What is kept there in any case.
const LARGEST_IN_GIT: usize = 10 << 20;

/// What kind of repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `datasets/`
    Dataset,
    /// `models/` in the API, nothing elsewhere.
    Model,
    /// `spaces/`
    Space,
}

impl Kind {
    pub(super) fn of_plural(text: &str) -> Option<Self> {
        match text {
            "datasets" => Some(Self::Dataset),
            "models" => Some(Self::Model),
            "spaces" => Some(Self::Space),
            _ => None,
        }
    }
}

/// All that is on a hub.
pub(super) struct State {
    pub(super) repositories: BTreeMap<(Kind, String), Contents>,
    /// The tokens that the hub knows.
    pub(super) accounts: BTreeSet<String>,
    /// By SHA-256.
    pub(super) storage: BTreeMap<String, Arc<Vec<u8>>>,
    pub(super) page: usize,
    commits: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            repositories: BTreeMap::new(),
            accounts: BTreeSet::new(),
            storage: BTreeMap::new(),
            page: 1000,
            commits: 0,
        }
    }
}

/// One repository.
#[derive(Default)]
pub(super) struct Contents {
    commits: BTreeMap<String, Tree>,
    /// By their names: `main`, `v1.0`, `refs/convert/parquet`.
    pub(super) branches: BTreeMap<String, String>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) access: Access,
}

pub(super) type Tree = BTreeMap<String, Blob>;

/// Who may read it. To others, a private one does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Access {
    #[default]
    Public,
    Private(String),
    Gated(String),
    Disabled,
}

/// The content of a file.
#[derive(Clone)]
pub(super) struct Blob {
    /// Git's name of it: of the pointer, if it is a large one.
    pub(super) oid: String,
    /// Only of a large one.
    pub(super) sha256: Option<String>,
    pub(super) bytes: Arc<Vec<u8>>,
}

impl Blob {
    fn new(path: &str, bytes: Vec<u8>) -> Self {
        let is_large = bytes.len() > LARGEST_IN_GIT
            || LARGE
                .iter()
                .any(|extension| path.ends_with(&format!(".{extension}")));
        let sha256 = is_large.then(|| hex(&Sha256::digest(&bytes)));
        let oid = match &sha256 {
            Some(sha256) => git_name(pointer(sha256, bytes.len()).as_bytes()),
            None => git_name(&bytes),
        };
        Self {
            oid,
            sha256,
            bytes: Arc::new(bytes),
        }
    }

    /// What its entity tag says.
    pub(super) fn tag(&self) -> &str {
        self.sha256.as_deref().unwrap_or(&self.oid)
    }

    pub(super) fn pointer_size(&self) -> Option<usize> {
        let sha256 = self.sha256.as_ref()?;
        Some(pointer(sha256, self.bytes.len()).len())
    }
}

/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
fn pointer(sha256: &str, size: usize) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n")
}

fn git_name(bytes: &[u8]) -> String {
    let mut hasher = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hex(&hasher.finalize())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

impl Contents {
    /// The commit that a branch, a tag or a commit's own name stands for.
    pub(super) fn resolve(&self, revision: &str) -> Option<(&str, &Tree)> {
        let commit = self
            .branches
            .get(revision)
            .or_else(|| self.tags.get(revision))
            .map_or(revision, String::as_str);
        let (commit, tree) = self.commits.get_key_value(commit)?;
        Some((commit, tree))
    }
}

/// A repository on a hub, to be changed.
#[derive(Clone)]
pub struct Repository<'a> {
    hub: &'a Hub,
    kind: Kind,
    id: String,
}

impl<'a> Repository<'a> {
    pub(super) fn new(hub: &'a Hub, kind: Kind, id: &str) -> Self {
        hub.state().repositories.entry((kind, id.to_owned())).or_default();
        Self {
            hub,
            kind,
            id: id.to_owned(),
        }
    }

    /// Adds files to `main`, or replaces them, and returns the commit.
    pub fn commit<P: Into<String>, B: Into<Vec<u8>>>(
        &self,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> String {
        self.commit_on("main", files)
    }

    /// The same on another branch, which is made if there is none: `refs/convert/parquet` is one.
    pub fn commit_on<P: Into<String>, B: Into<Vec<u8>>>(
        &self,
        branch: &str,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> String {
        let parent = self.change(|contents| {
            let (_, tree) = contents.resolve(branch)?;
            Some(tree.clone())
        });
        self.write(branch, parent.unwrap_or_default(), files)
    }

    /// Replaces a branch and its history: the commit that it had is gone.
    pub fn force_push<P: Into<String>, B: Into<Vec<u8>>>(
        &self,
        branch: &str,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> String {
        self.change(|contents| {
            if let Some(commit) = contents.branches.remove(branch) {
                contents.commits.remove(&commit);
            }
        });
        self.write(branch, Tree::new(), files)
    }

    /// Gives a commit a name that stays.
    pub fn tag(&self, name: &str, commit: &str) {
        self.change(|contents| contents.tags.insert(name.to_owned(), commit.to_owned()));
    }

    /// Lets only the account with this token see it.
    pub fn private(&self, token: &str) {
        self.hub.account(token);
        self.change(|contents| contents.access = Access::Private(token.to_owned()));
    }

    /// Lets everyone see it, and only the account with this token read files.
    pub fn gated(&self, token: &str) {
        self.hub.account(token);
        self.change(|contents| contents.access = Access::Gated(token.to_owned()));
    }

    /// Takes it down.
    pub fn disable(&self) {
        self.change(|contents| contents.access = Access::Disabled);
    }

    /// Lets everyone read it again.
    pub fn publish(&self) {
        self.change(|contents| contents.access = Access::Public);
    }

    /// Deletes it.
    pub fn delete(&self) {
        self.hub
            .state()
            .repositories
            .remove(&(self.kind, self.id.clone()));
    }

    fn write<P: Into<String>, B: Into<Vec<u8>>>(
        &self,
        branch: &str,
        mut tree: Tree,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> String {
        for (path, bytes) in files {
            let path = path.into();
            let blob = Blob::new(&path, bytes.into());
            tree.insert(path, blob);
        }
        let mut state = self.hub.state();
        state.commits += 1;
        let commit = hex(&Sha1::digest(format!("{} {}", self.id, state.commits)));
        for blob in tree.values() {
            if let Some(sha256) = &blob.sha256 {
                state.storage.insert(sha256.clone(), Arc::clone(&blob.bytes));
            }
        }
        let contents = state
            .repositories
            .entry((self.kind, self.id.clone()))
            .or_default();
        contents.commits.insert(commit.clone(), tree);
        contents.branches.insert(branch.to_owned(), commit.clone());
        commit
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        let mut state = self.hub.state();
        change(
            state
                .repositories
                .entry((self.kind, self.id.clone()))
                .or_default(),
        )
    }
}
