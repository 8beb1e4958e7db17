//! Contents: whole files by their digest.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use reprise_contract::Digest;

use super::disk;
use super::layout::{Layout, make_folder};
use super::lock::Locking;
use super::problem::CacheProblem;

/// A content that nobody removes for as long as this is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: u64,
    pub(super) in_use: Arc<File>,
}

impl Held {
    /// Opens a content; `None` when it is not there.
    pub(super) fn open(
        layout: &Layout,
        locking: Locking,
        sha256: Digest,
    ) -> Result<Option<Self>, CacheProblem> {
        let path = layout.object(sha256);
        while let Some(file) = disk::if_there(File::open(&path))? {
            locking.share(&file)?;
            // It may have been removed before it was locked.
            if disk::is_at(&file, &path)? {
                return Ok(Some(Self {
                    bytes: file.metadata()?.len(),
                    in_use: Arc::new(file),
                }));
            }
        }
        Ok(None)
    }

    /// Makes a complete partial file a content. It is locked before anybody can see it.
    pub(super) fn publish(
        layout: &Layout,
        locking: Locking,
        partial: &Path,
        sha256: Digest,
    ) -> Result<Self, CacheProblem> {
        let file = File::open(partial)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        if let Some(held) = Self::open(layout, locking, sha256)?
            && held.bytes == bytes
        {
            disk::remove_if_there(partial)?;
            return Ok(held);
        }
        locking.share(&file)?;
        let path = layout.object(sha256);
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
            disk::sync_folder_of(folder)?;
        }
        fs::rename(partial, &path)?;
        file.set_permissions(Permissions::from_mode(0o400))?;
        disk::sync_folder_of(&path)?;
        Ok(Self {
            bytes,
            in_use: Arc::new(file),
        })
    }
}
