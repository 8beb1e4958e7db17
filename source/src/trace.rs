//! An open trace.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use reprise_contract::Digest;

use crate::compression::{Compression, HEAD, Unpacking};
use crate::digest::{Hashing, digest_of_digests};
use crate::error::{Problem, SourceError};
use crate::local::LocalSource;
use crate::progress::Progress;
use crate::reference::Reference;
use crate::transfer::Stored;

/// How much is unpacked at a time.
const BUFFER: usize = 1024 * 1024;

/// Opens a file on this machine, and waits until its first bytes are there. `reference` is what messages name.
/// `expected` is the digest that the file had when it was fetched.
///
/// Blocks, as reading from the [`Trace`] does; asynchronous callers use a thread for it.
pub(crate) fn open(
    reference: &Reference,
    path: &Path,
    expected: Option<Digest>,
) -> Result<Trace, SourceError> {
    let mut stored = Stored::open(reference, LocalSource(path.to_owned()))?;
    let progress = stored.progress().clone();
    let compression = Compression::detect(stored.peek(HEAD)?);
    let content = match compression.map_err(|problem| stored.error(problem))? {
        Compression::None => Content::Plain(stored),
        Compression::Gzip => Content::packed(Unpacking::gzip(stored)),
        Compression::Zstd => Content::packed(
            Unpacking::zstd(stored)
                .map_err(|error| SourceError::new(reference.clone(), Problem::Start(error)))?,
        ),
    };
    Ok(Trace {
        reference: reference.clone(),
        path: path.to_owned(),
        expected,
        progress,
        content,
    })
}

/// A trace, decompressed and read from start to end. Dropping it ends the transfer at once.
///
/// Errors of reading are [`SourceError`]s inside an [`io::Error`]; [`SourceError::behind`] finds them.
pub struct Trace {
    reference: Reference,
    path: PathBuf,
    expected: Option<Digest>,
    progress: Progress,
    content: Content,
}

enum Content {
    Plain(Stored),
    Packed(Box<BufReader<Hashing<Unpacking>>>),
}

impl Content {
    fn packed(unpacking: Unpacking) -> Self {
        Self::Packed(Box::new(BufReader::with_capacity(
            BUFFER,
            Hashing::new(unpacking),
        )))
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match self {
            Self::Plain(stored) => stored,
            Self::Packed(reader) => reader,
        }
    }
}

impl Trace {
    /// How much is read, to be watched from anywhere.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Whether it is stored without compression.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self.content, Content::Plain(_))
    }

    /// Reads what is left, so that the digests are those of the whole trace, and says what was read.
    ///
    /// # Errors
    ///
    /// When the rest cannot be read, or when the file is not the one that was fetched any more.
    pub fn finish(mut self) -> Result<Provenance, SourceError> {
        let drained = io::copy(self.content.reader(), &mut io::sink());
        drained.map_err(|error| match error.downcast() {
            Ok(error) => error,
            Err(error) => SourceError::new(self.reference.clone(), Problem::File(error)),
        })?;
        let (compression, sha256, trace_sha256) = match self.content {
            Content::Plain(stored) => (Compression::None, stored.digest(), stored.digest()),
            Content::Packed(mut reader) => {
                let trace = reader.get_ref().digest();
                let unpacking = reader.get_mut().get_mut();
                let compression = unpacking.compression();
                (compression, unpacking.stored().digest(), Some(trace))
            }
        };
        let (Some(sha256), Some(trace_sha256)) = (sha256, trace_sha256) else {
            return Err(SourceError::new(self.reference, Problem::Stopped));
        };
        if self.expected.is_some_and(|expected| expected != sha256) {
            return Err(SourceError::new(self.reference, Problem::CopyDamaged(self.path)));
        }
        Ok(Provenance {
            reference: self.reference.to_string(),
            bytes: self.progress.bytes(),
            sha256,
            compression,
            trace_sha256,
        })
    }
}

impl Read for Trace {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.reader().read(buffer)
    }
}

impl BufRead for Trace {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.content.reader().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.content.reader().consume(amount);
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("reference", &self.reference)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// What exactly was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// What the user wrote, credentials redacted.
    pub reference: String,
    /// Bytes as they are stored at the source.
    pub bytes: u64,
    /// Digest of these bytes.
    pub sha256: Digest,
    /// How they are compressed, told by content.
    pub compression: Compression,
    /// Digest of the decompressed trace; the same as `sha256` without compression.
    pub trace_sha256: Digest,
}

impl Provenance {
    /// What was read of a trace that is `files`, in the order of reading. The digests are those of the only file, or else
    /// the digest of a text with a line for each file: its `sha256` in hexadecimal.
    #[must_use]
    pub fn of_files(reference: &Reference, files: &[Self]) -> Self {
        let digests: Vec<_> = files.iter().map(|file| file.sha256).collect();
        let sha256 = digest_of_digests(&digests);
        Self {
            reference: reference.to_string(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            sha256,
            compression: Compression::None,
            trace_sha256: sha256,
        }
    }
}
