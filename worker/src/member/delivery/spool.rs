//! Batches that wait for the manager: in memory, and on disk when they are too many.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::member::events::{Event, tell};
use crate::member::scratch::ScratchError;

/// Bytes of waiting batches that stay in memory.
const IN_MEMORY: usize = 8 << 20;
/// Bytes in memory at most while the disk takes none. Beyond it the run must stop.
const WITHOUT_DISK: usize = 64 << 20;

/// How much may wait in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes before the disk is used.
    pub(crate) in_memory: usize,
    /// Bytes while the disk takes none.
    pub(crate) without_disk: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            in_memory: IN_MEMORY,
            without_disk: WITHOUT_DISK,
        }
    }
}

/// Batches that were sealed and not yet acknowledged, in order. Clones share it. One thread adds, another delivers.
#[derive(Clone)]
pub(crate) struct Spool {
    folder: PathBuf,
    room: Room,
    state: Arc<Mutex<State>>,
    news: Arc<Notify>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    in_memory: usize,
    outcomes: u64,
    /// Nothing comes after what is there.
    is_closed: bool,
    is_spilling: bool,
}

struct Waiting {
    number: u64,
    outcomes: u64,
    kept: Kept,
}

enum Kept {
    Memory(Bytes),
    File(PathBuf),
}

/// Whether there is room for more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// There is.
    Fine,
    /// The disk takes nothing, and memory is filling up: sending must stop. The batch was kept nevertheless.
    Stop {
        /// Why the disk takes nothing.
        why: String,
    },
}

/// What to deliver next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    /// The batch's number.
    pub(crate) number: u64,
    /// Its bytes.
    pub(crate) bytes: Bytes,
}

impl Spool {
    /// A spool that writes to this folder when there is no room in memory.
    pub(crate) fn new(folder: PathBuf, room: Room) -> Self {
        Self {
            folder,
            room,
            state: Arc::default(),
            news: Arc::default(),
        }
    }

    /// Keeps a batch.
    pub(crate) fn add(&self, number: u64, outcomes: u64, bytes: Vec<u8>) -> Pressure {
        let size = bytes.len();
        let mut pressure = Pressure::Fine;
        let fits = self.state().in_memory + size <= self.room.in_memory;
        let kept = if fits {
            Kept::Memory(Bytes::from(bytes))
        } else {
            self.spilling();
            match write(&self.folder, number, &bytes) {
                Ok(path) => Kept::File(path),
                Err(error) => {
                    let why = format!("{}: {error}", self.folder.display());
                    tell(&Event::DiskFailed { why: &why });
                    if self.state().in_memory + size > self.room.without_disk {
                        pressure = Pressure::Stop { why };
                    }
                    Kept::Memory(Bytes::from(bytes))
                }
            }
        };
        let mut state = self.state();
        if let Kept::Memory(_) = kept {
            state.in_memory += size;
        }
        state.outcomes += outcomes;
        state.waiting.push_back(Waiting {
            number,
            outcomes,
            kept,
        });
        drop(state);
        self.news.notify_one();
        pressure
    }

    /// Nothing comes any more.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.news.notify_one();
    }

    /// Waits for the oldest batch; `None` when there is none and none will come. The same one again until it is acknowledged.
    ///
    /// # Errors
    /// When it cannot be read back from the disk.
    pub(crate) async fn next(&self) -> Result<Option<Next>, ScratchError> {
        loop {
            let found = {
                let state = self.state();
                let oldest = state.waiting.front().map(|waiting| {
                    let bytes = match &waiting.kept {
                        Kept::Memory(bytes) => Ok(bytes.clone()),
                        Kept::File(path) => Err(path.clone()),
                    };
                    (waiting.number, bytes)
                });
                if oldest.is_none() && state.is_closed {
                    return Ok(None);
                }
                oldest
            };
            if let Some((number, kept)) = found {
                let bytes = match kept {
                    Ok(bytes) => bytes,
                    Err(path) => Bytes::from(fs::read(path).map_err(|source| ScratchError {
                        folder: self.folder.clone(),
                        source,
                    })?),
                };
                return Ok(Some(Next { number, bytes }));
            }
            self.news.notified().await;
        }
    }

    /// Everything before this number is safe with the manager.
    pub(crate) fn acknowledge(&self, next: u64) {
        let mut state = self.state();
        while state.waiting.front().is_some_and(|waiting| waiting.number < next) {
            let Some(safe) = state.waiting.pop_front() else {
                return;
            };
            state.outcomes -= safe.outcomes;
            match safe.kept {
                Kept::Memory(bytes) => state.in_memory -= bytes.len(),
                Kept::File(path) => {
                    // A file that stays is removed with the folder.
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().waiting.is_empty()
    }

    /// How many outcomes wait.
    pub(crate) fn outcomes(&self) -> u64 {
        self.state().outcomes
    }

    fn spilling(&self) {
        if !std::mem::replace(&mut self.state().is_spilling, true) {
            tell(&Event::Spilling { folder: &self.folder });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a batch so that its file is whole once it has its name.
fn write(folder: &Path, number: u64, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(format!("{number:012}.arrow"));
    let partial = folder.join(format!("{number:012}.partial"));
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, &path));
    if written.is_err() {
        // What a full disk holds of it is of no use, and takes room.
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| path)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const ROOM: Room = Room {
        in_memory: 10,
        without_disk: 25,
    };

    fn next(spool: &Spool) -> Option<Next> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(spool.next()).unwrap()
    }

    fn files(folder: &TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn batches_come_out_in_order_whether_from_memory_or_disk() {
        let folder = TempDir::new().unwrap();
        let spool = Spool::new(folder.path().to_owned(), ROOM);
        let batches = [8, 7, 2, 9, 4];
        for (number, size) in (0..).zip(batches) {
            assert_eq!(spool.add(number, 1, vec![b'a'; size]), Pressure::Fine);
        }
        assert_eq!(files(&folder), 3, "8 and 2 bytes are in memory");
        spool.close();
        for (number, size) in (0..).zip(batches) {
            let batch = next(&spool).unwrap();
            assert_eq!((batch.number, batch.bytes.len()), (number, size));
            assert_eq!(next(&spool).unwrap(), batch, "until it is acknowledged");
            spool.acknowledge(number + 1);
        }
        assert_eq!(next(&spool), None);
        assert_eq!(files(&folder), 0);
        assert_eq!(spool.outcomes(), 0);
    }

    #[test]
    fn without_a_disk_memory_takes_more_and_then_sending_must_stop_but_nothing_is_lost() {
        let folder = TempDir::new().unwrap();
        // A file where the folder should be refuses every file inside.
        let blocked = folder.path().join("file");
        fs::write(&blocked, b"").unwrap();
        let spool = Spool::new(blocked, ROOM);
        let pressures: Vec<_> = (0..4).map(|number| spool.add(number, 2, vec![0; 8])).collect();
        assert_eq!(pressures[..3], [Pressure::Fine, Pressure::Fine, Pressure::Fine]);
        assert!(matches!(pressures[3], Pressure::Stop { .. }), "{pressures:?}");
        assert_eq!(spool.outcomes(), 8);
        for number in 0..4 {
            assert_eq!(next(&spool).unwrap().number, number);
            spool.acknowledge(number + 1);
        }
        assert!(spool.is_empty());
    }

    #[test]
    fn an_acknowledgement_may_cover_several_and_be_repeated() {
        let folder = TempDir::new().unwrap();
        let spool = Spool::new(folder.path().to_owned(), ROOM);
        for number in 0..5 {
            spool.add(number, 1, vec![0; 4]);
        }
        spool.acknowledge(4);
        spool.acknowledge(2);
        assert_eq!(next(&spool).unwrap().number, 4);
        assert_eq!(files(&folder), 1, "the last one came when memory was full");
    }
}
