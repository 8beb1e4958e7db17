//! The cache that all Hugging Face tools share.
//!
//! ```text
//! <root>/datasets--acme--traces/
//!     blobs/<blob>                     contents, by the names that the hub gives them
//!     blobs/<blob>.incomplete          what an interrupted transfer left
//!     snapshots/<commit>/<path>        links to blobs
//!     refs/<branch or tag>             the commit that it stood for last
//!     listings/<commit>/…              ours: which files a folder has, for runs without a network
//! <root>/.locks/datasets--acme--traces/<blob>.lock
//! ```
//!
//! A blob is renamed into place when it is whole, so a reader needs no lock. Locks are those of the kernel (`flock`), as in
//! the Python client, and end with the process that holds them.

mod listings;
mod offline;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use reprise_contract::Digest;

use super::git::{BlobName, is_commit};
use super::problem::HubProblem;
use super::source::{DEFAULT_REVISION, commit};
use crate::error::Problem;
use crate::reference::{HubPath, is_plain_path};
use crate::remote::{Found, RemoteFile};
use crate::store::{Claim, Kept, Store};

/// The part of the cache that belongs to the repository of one reference.
#[derive(Clone, Debug)]
pub(crate) struct HubCache {
    root: PathBuf,
    path: HubPath,
}

impl HubCache {
    /// Creates nothing. `root` is what `HF_HUB_CACHE` names.
    pub(crate) fn new(root: &Path, path: &HubPath) -> Self {
        Self {
            root: root.to_owned(),
            path: path.clone(),
        }
    }

    /// `datasets--acme--traces`
    fn repository(&self) -> String {
        format!(
            "{}--{}--{}",
            self.path.kind().plural(),
            self.path.owner(),
            self.path.name()
        )
    }

    fn folder(&self) -> PathBuf {
        self.root.join(self.repository())
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder().join("snapshots").join(commit)
    }

    /// Where a commit has a file. The names come from the hub, and must not lead anywhere else.
    fn pointer(&self, found: &Found, file: &RemoteFile) -> Result<PathBuf, Problem> {
        let commit = commit(found)?;
        if is_commit(commit) && is_plain_path(&file.location) {
            Ok(self.snapshot(commit).join(&file.location))
        } else {
            Err(HubProblem::Answer.into())
        }
    }

    fn blob_path(&self, blob: &BlobName) -> PathBuf {
        self.folder().join("blobs").join(blob.to_string())
    }

    /// Where it is on record what a branch or tag stood for; `None` for a commit, which stands for itself, and for what no
    /// branch can be called.
    fn reference(&self) -> Option<PathBuf> {
        let revision = self.path.revision().unwrap_or(DEFAULT_REVISION);
        let is_named = !is_commit(revision) && is_plain_path(revision);
        is_named.then(|| self.folder().join("refs").join(revision))
    }

    /// For runs without a network: what the revision stands for, and what the folder has.
    fn remember(&self, found: &Found) -> Result<(), HubProblem> {
        if let (Some(path), Ok(commit)) = (self.reference(), commit(found))
            && fs::read_to_string(&path).ok().as_deref() != Some(commit)
        {
            replace(&path, commit.as_bytes()).map_err(cannot_use(&path))?;
        }
        self.remember_listing(found)
    }

    fn lock_path(&self, blob: &BlobName) -> PathBuf {
        self.root
            .join(".locks")
            .join(self.repository())
            .join(format!("{blob}.lock"))
    }
}

impl Store for HubCache {
    fn find(&self, found: &Found, file: &RemoteFile) -> Result<Option<Kept>, Problem> {
        let pointer = self.pointer(found, file)?;
        let blob = blob(file).ok();
        let path = if is_whole(&pointer, file.size) {
            pointer
        } else {
            let blob_path = blob.as_ref().map(|blob| self.blob_path(blob));
            let Some(blob_path) = blob_path.filter(|path| is_whole(path, file.size)) else {
                return Ok(None);
            };
            // From another commit. A cache that cannot be written can still be read.
            match point(&blob_path, &pointer, symlink) {
                Ok(()) => pointer,
                Err(_) => blob_path,
            }
        };
        // As above: nothing that is needed now.
        let _ = self.remember(found);
        let bytes = fs::metadata(&path).map_err(cannot_use(&path))?.len();
        Ok(Some(kept(path, bytes, blob.and_then(|blob| blob.sha256()))))
    }

    fn claim(&self, found: &Found, file: &RemoteFile) -> Result<Option<Claim>, Problem> {
        self.pointer(found, file)?;
        let blob = blob(file)?;
        let partial = self.blob_path(&blob).with_added_extension("incomplete");
        tag(&self.root).map_err(cannot_use(&self.root))?;
        create_parent(&partial).map_err(cannot_use(&partial))?;
        let lock_path = self.lock_path(&blob);
        create_parent(&lock_path).map_err(cannot_use(&lock_path))?;
        let Some(lock) = lock(&lock_path).map_err(cannot_use(&lock_path))? else {
            return Ok(None);
        };
        adopt_partial(&partial, &blob).map_err(cannot_use(&partial))?;
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&partial)
            .map_err(cannot_use(&partial))?;
        Ok(Some(Claim { partial, lock }))
    }

    fn publish(
        &self,
        found: &Found,
        file: &RemoteFile,
        claim: Claim,
        sha256: Digest,
    ) -> Result<Kept, Problem> {
        let pointer = self.pointer(found, file)?;
        let blob = blob(file)?;
        let content = File::open(&claim.partial).map_err(cannot_use(&claim.partial))?;
        let bytes = content.metadata().map_err(cannot_use(&claim.partial))?.len();
        let is_it = blob
            .names(sha256, bytes, content)
            .map_err(cannot_use(&claim.partial))?;
        if !is_it {
            fs::remove_file(&claim.partial).map_err(cannot_use(&claim.partial))?;
            return Err(HubProblem::Damaged.into());
        }
        let blob_path = self.blob_path(&blob);
        fs::rename(&claim.partial, &blob_path).map_err(cannot_use(&blob_path))?;
        point(&blob_path, &pointer, symlink).map_err(cannot_use(&pointer))?;
        self.remember(found)?;
        Ok(kept(pointer, bytes, Some(sha256)))
    }
}

/// What the hub calls the content, which is also its name here.
fn blob(file: &RemoteFile) -> Result<BlobName, HubProblem> {
    let tag = file.tag.as_deref().ok_or(HubProblem::Answer)?;
    BlobName::parse(tag).ok_or(HubProblem::Answer)
}

fn kept(path: PathBuf, bytes: u64, sha256: Option<Digest>) -> Kept {
    Kept {
        path,
        bytes,
        sha256,
        // Nothing is removed from this cache by Reprise.
        in_use: None,
    }
}

fn cannot_use(path: &Path) -> impl FnOnce(io::Error) -> HubProblem {
    let path = path.to_owned();
    move |source| HubProblem::Cache { path, source }
}

/// Whether a file is there and has the size that it should have.
fn is_whole(path: &Path, size: Option<u64>) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && size.is_none_or(|size| size == metadata.len()))
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Tells back-up tools to pass the cache by, as the Python client does (<https://bford.info/cachedir/>).
fn tag(root: &Path) -> io::Result<()> {
    let path = root.join("CACHEDIR.TAG");
    if path.exists() {
        return Ok(());
    }
    replace(
        &path,
        b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache, which its tools can fill again.\n",
    )
}

/// Writes a small file as a whole.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    /// Two threads may write the same file.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    create_parent(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{number}.tmp", process::id()));
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, content)?;
    fs::rename(&unfinished, path)
}

/// What a killed Python client left of the same blob, for which it takes a new name each time. Nobody writes it while
/// the lock is ours.
fn adopt_partial(partial: &Path, blob: &BlobName) -> io::Result<()> {
    let Some(folder) = partial.parent().filter(|_| !partial.exists()) else {
        return Ok(());
    };
    let prefix = format!("{blob}.");
    let mut largest: Option<(u64, PathBuf)> = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_partial = name
            .to_str()
            .and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".incomplete"))
            .is_some();
        let length = entry.metadata()?.len();
        if is_partial && largest.as_ref().is_none_or(|(most, _)| *most < length) {
            largest = Some((length, entry.path()));
        }
    }
    largest.map_or(Ok(()), |(_, path)| fs::rename(path, partial))
}

/// `None` while another process holds it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its holder may have removed it in between, and somebody else locked a new one.
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    matches!((file.metadata(), fs::metadata(path)), (Ok(ours), Ok(there)) if ours.ino() == there.ino() && ours.dev() == there.dev())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    // An open file cannot be removed.
    true
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, link)
}

/// Makes `pointer` lead to `blob`, by a relative link so that the cache can be moved, or by a copy where there are no links.
pub(super) fn point(
    blob: &Path,
    pointer: &Path,
    link: impl Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    create_parent(pointer)?;
    // What leads nowhere, or to something cut short.
    match fs::remove_file(pointer) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match link(&relative(blob, pointer), pointer) {
        // By somebody else, just now.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => {
            let copy = blob.with_added_extension(format!("{}.copy", process::id()));
            fs::copy(blob, &copy)?;
            fs::rename(&copy, pointer)
        }
        Ok(()) => Ok(()),
    }
}

/// The way from the folder of `from` to `to`.
fn relative(to: &Path, from: &Path) -> PathBuf {
    let folder: Vec<Component<'_>> = from.parent().into_iter().flat_map(Path::components).collect();
    let target: Vec<Component<'_>> = to.components().collect();
    let shared = folder
        .iter()
        .zip(&target)
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder[shared..].iter().map(|_| OsStr::new(".."));
    let down = target[shared..].iter().map(|part| part.as_os_str());
    up.chain(down).collect()
}
