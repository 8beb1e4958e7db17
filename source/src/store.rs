//! What a place to keep fetched files in has to be able to do: Reprise's own cache, and the Hugging Face cache.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use reprise_contract::Digest;

use crate::error::Problem;
use crate::remote::{Found, RemoteFile};

/// Keeps fetched files for later runs. A file is there whole or not at all. All calls block for as long as the disk does,
/// and no longer: nobody waits for another process in here.
pub(crate) trait Store: Send + Sync {
    /// The file of exactly this version, if it is there.
    fn find(&self, found: &Found, file: &RemoteFile) -> Result<Option<Kept>, Problem>;

    /// The right to write this file: `None` while another process has it. It ends with the process that holds it,
    /// however that ends.
    fn claim(&self, found: &Found, file: &RemoteFile) -> Result<Option<Claim>, Problem>;

    /// Makes a whole and verified file visible, atomically, and gives the claim up.
    fn publish(
        &self,
        found: &Found,
        file: &RemoteFile,
        claim: Claim,
        sha256: Digest,
    ) -> Result<Kept, Problem>;
}

/// A file that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// As it was when it was written, where the store has that on record.
    pub(crate) sha256: Option<Digest>,
    /// A shared lock on the file, in a store that removes files by itself: it does not remove this one for as long as
    /// somebody holds it.
    pub(crate) in_use: Option<Arc<File>>,
}

impl Kept {
    /// The first bytes, at most `limit`.
    pub(crate) fn start(&self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(&self.path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The right to write a file.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Where the bytes go until they are all there. What an interrupted transfer left is in it, and goes on.
    pub(crate) partial: PathBuf,
    /// Locked by the kernel, which lets go of it when the process ends.
    pub(crate) lock: File,
}
