//! The lines of a trace, one at a time.

use std::io::{self, BufRead, Read};

use crate::position::Position;
use crate::records::{Record, Records, RecordsError};
use crate::refusal::LineError;

/// A line longer than this is no record but a file of another kind.
const MAX_LINE_BYTES: usize = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Whether the start of a trace holds a whole line with something on it, or as much of one as is ever read.
pub(crate) fn holds_a_record(head: &[u8]) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    head.split_inclusive(|byte| *byte == b'\n')
        .any(|line| (line.ends_with(b"\n") && !line.trim_ascii().is_empty()) || line.len() > MAX_LINE_BYTES)
}

/// The lines of a trace that have something on them.
pub(crate) struct Lines<'a> {
    trace: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    /// The number of the line last read, from 1.
    number: u32,
    blank: u32,
    max_bytes: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(trace: &'a mut dyn BufRead) -> Self {
        Self {
            trace,
            buffer: Vec::new(),
            number: 0,
            blank: 0,
            max_bytes: MAX_LINE_BYTES,
        }
    }

    /// Reads a line into the buffer. Says whether it was too long, `None` at the end of the file.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let limit = self.max_bytes as u64 + 1;
        if (&mut *self.trace)
            .take(limit)
            .read_until(b'\n', &mut self.buffer)?
            == 0
        {
            return Ok(None);
        }
        let is_too_long = self.buffer.len() > self.max_bytes && !self.buffer.ends_with(b"\n");
        if is_too_long {
            self.trace.skip_until(b'\n')?;
        }
        Ok(Some(is_too_long))
    }
}

impl Records for Lines<'_> {
    /// The next line that has something on it, `None` at the end of the file. A byte order mark at the file's start is
    /// dropped.
    fn next(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        loop {
            let is_too_long = match self.read_line() {
                Ok(None) => return Ok(None),
                Ok(Some(is_too_long)) => is_too_long,
                Err(source) => {
                    return Err(RecordsError::Io {
                        after: self.number,
                        source,
                    });
                }
            };
            self.number = self.number.checked_add(1).ok_or(RecordsError::TooMany)?;
            if is_too_long {
                let text = Err(LineError::TooLong { max: self.max_bytes });
                return Ok(Some(Record {
                    position: Position::line(self.number),
                    text,
                }));
            }
            if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            if self.buffer.trim_ascii().is_empty() {
                self.blank += 1;
                continue;
            }
            let text = std::str::from_utf8(self.buffer.trim_ascii());
            let text = text.map_err(|error| LineError::NotUtf8 {
                byte: error.valid_up_to() + 1,
            });
            return Ok(Some(Record {
                position: Position::line(self.number),
                text,
            }));
        }
    }

    fn blank_lines(&self) -> u32 {
        self.blank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(mut trace: &[u8], max_bytes: usize) -> Vec<(u32, Option<String>)> {
        let mut lines = Lines {
            max_bytes,
            ..Lines::new(&mut trace)
        };
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.position.number(), line.text.ok().map(ToOwned::to_owned)));
        }
        all
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_the_next_ones_are_read() {
        let long = [
            (1, Some("12345".to_owned())),
            (2, None),
            (3, Some("ok".to_owned())),
        ];
        assert_eq!(lines_of(b"12345\n123456\nok", 5), long);
        assert_eq!(lines_of(b"1234567890123", 5), [(1, None)]);
    }

    #[test]
    fn what_is_not_utf8_is_named_by_its_byte() {
        let mut trace = &b"ab\n\xc3\xa9\xff\n"[..];
        let mut lines = Lines::new(&mut trace);
        assert!(lines.next().unwrap().unwrap().text.is_ok());
        let second = lines.next().unwrap().unwrap();
        assert!(matches!(second.text, Err(LineError::NotUtf8 { byte: 3 })));
    }

    #[test]
    fn blank_lines_are_counted_and_skipped() {
        let mut trace = &b"\xef\xbb\xbf \t\r\n\na\r\n\n"[..];
        let mut lines = Lines::new(&mut trace);
        let line = lines.next().unwrap().unwrap();
        assert_eq!((line.position.number(), line.text.unwrap()), (3, "a"));
        assert!(lines.next().unwrap().is_none());
        assert_eq!(lines.blank_lines(), 3);
    }

    #[test]
    fn a_reader_that_fails_is_an_error_with_its_place() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the network went away"))
            }
        }
        let mut trace = io::BufReader::new((&b"a\nb"[..]).chain(Failing));
        let mut lines = Lines::new(&mut trace);
        assert!(lines.next().unwrap().is_some());
        assert!(matches!(lines.next(), Err(RecordsError::Io { after: 1, .. })));
    }
}
