//! Compression, told by content.

use std::fmt;
use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Problem, SourceError};
use crate::transfer::Stored;

/// How a trace is compressed. Its first bytes tell, its name does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
}

/// How many bytes [`Compression::detect`] wants to see.
pub(crate) const HEAD: usize = 10;

impl Compression {
    /// Looks at the first [`HEAD`] bytes, or at all there are. Other compressions are refused by name, which is kinder than what a
    /// trace format would say of them.
    pub(crate) fn detect(head: &[u8]) -> Result<Self, Problem> {
        match head {
            [0x1f, 0x8b, 8, ..] => Ok(Self::Gzip),
            // A frame, or a skippable frame, which pzstd and the seekable format write.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Ok(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err(Problem::Packed("xz")),
            [
                b'B',
                b'Z',
                b'h',
                b'1'..=b'9',
                0x31,
                0x41,
                0x59,
                0x26,
                0x53,
                0x59,
                ..,
            ] => Err(Problem::Packed("bzip2")),
            [0x04, 0x22, 0x4d, 0x18, ..] => Err(Problem::Packed("lz4")),
            [b'P', b'K', 3, 4, ..] => Err(Problem::Packed("zip")),
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Err(Problem::Packed("7z")),
            _ => Ok(Self::None),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The start of a decompressed trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether there are no more of them.
    pub is_whole: bool,
}

impl Head {
    /// A few MiB can unpack to many GiB; no record is as long as this.
    const MAX_BYTES: u64 = 65 << 20;

    /// Unpacks as much of `stored` as can be. That it ends in the middle of something is no error, unless it `is_whole`.
    ///
    /// # Errors
    ///
    /// When it is damaged, or compressed in a way that is not supported.
    pub fn unpack(stored: &[u8], is_whole: bool) -> Result<Self, Problem> {
        let compression = Compression::detect(stored)?;
        let decoder: Box<dyn Read + '_> = match compression {
            Compression::None => Box::new(stored),
            Compression::Gzip => Box::new(MultiGzDecoder::new(stored)),
            Compression::Zstd => Box::new(zstd::Decoder::with_buffer(stored).map_err(Problem::Start)?),
        };
        let mut bytes = Vec::new();
        let read = decoder.take(Self::MAX_BYTES).read_to_end(&mut bytes);
        let is_cut = match read {
            Ok(read) => read as u64 == Self::MAX_BYTES,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !is_whole => true,
            Err(error) => return Err(unpacking_failed(compression, error)),
        };
        Ok(Self {
            bytes,
            is_whole: is_whole && !is_cut,
        })
    }
}

/// Why a decoder failed.
fn unpacking_failed(compression: Compression, error: io::Error) -> Problem {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        Problem::Truncated { compression }
    } else {
        Problem::Damaged {
            compression,
            detail: error,
        }
    }
}

/// Unpacks stored bytes. Each variant reads all members or frames, and holds no more than its window: at most 128 MiB
/// with zstd, whose decoder refuses more.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one a trace, on the heap; how large a decoder is depends on what else is built"
)]
pub(crate) enum Unpacking {
    Gzip(MultiGzDecoder<Stored>),
    Zstd(zstd::Decoder<'static, Stored>),
}

impl Unpacking {
    pub(crate) fn gzip(stored: Stored) -> Self {
        Self::Gzip(MultiGzDecoder::new(stored))
    }

    pub(crate) fn zstd(stored: Stored) -> io::Result<Self> {
        zstd::Decoder::with_buffer(stored).map(Self::Zstd)
    }

    pub(crate) fn stored(&mut self) -> &mut Stored {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        match self {
            Self::Gzip(_) => Compression::Gzip,
            Self::Zstd(_) => Compression::Zstd,
        }
    }
}

impl Read for Unpacking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        };
        result.map_err(|error| {
            if SourceError::behind(&error).is_some() {
                return error;
            }
            let problem = unpacking_failed(self.compression(), error);
            self.stored().error(problem).into()
        })
    }
}

#[cfg(test)]
mod tests;
