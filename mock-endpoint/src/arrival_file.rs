//! Arrivals as JSON lines in a file, written by a thread of its own so that no request waits for the disk.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::arrivals::Record;
use crate::clock::Epoch;

/// How often the thread looks for arrivals. Being woken for each would cost the endpoint a system call a request.
const BATCH_EVERY: Duration = Duration::from_millis(50);

/// An open log file.
#[derive(Debug)]
pub(crate) struct ArrivalFile {
    queue: Arc<Mutex<Queue>>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
}

#[derive(Debug, Default)]
struct Queue {
    records: Vec<Record>,
    closed: bool,
}

impl ArrivalFile {
    pub(crate) fn create(path: &Path, epoch: Epoch) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let queue = Arc::new(Mutex::new(Queue::default()));
        let shared = Arc::clone(&queue);
        let writer = thread::Builder::new()
            .name("arrival-log".to_owned())
            .spawn(move || {
                let written = write(file, &shared, epoch);
                lock(&shared).closed = true;
                written
            })?;
        Ok(Self {
            queue,
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Leaves a record to the thread. Once writing has failed, which [`ArrivalFile::close`] tells of, it is let go.
    pub(crate) fn append(&self, record: Record) {
        let mut queue = lock(&self.queue);
        if !queue.closed {
            queue.records.push(record);
        }
    }

    /// Waits until all is written; tells of the first error that writing met, once.
    pub(crate) fn close(&self) -> io::Result<()> {
        lock(&self.queue).closed = true;
        let Some(writer) = lock(&self.writer).take() else {
            return Ok(());
        };
        writer.thread().unpark();
        writer
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))
    }
}

impl Drop for ArrivalFile {
    /// Lets the thread end. Whoever wants to know how writing went has called [`ArrivalFile::close`].
    fn drop(&mut self) {
        lock(&self.queue).closed = true;
    }
}

fn write(mut file: BufWriter<File>, queue: &Mutex<Queue>, epoch: Epoch) -> io::Result<()> {
    loop {
        let Queue { records, closed } = {
            let mut queue = lock(queue);
            Queue {
                records: std::mem::take(&mut queue.records),
                closed: queue.closed,
            }
        };
        for record in records {
            serde_json::to_writer(&mut file, &record.into_arrival(epoch))?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
        if closed {
            return Ok(());
        }
        thread::park_timeout(BATCH_EVERY);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
