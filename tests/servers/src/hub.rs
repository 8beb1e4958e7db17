//! A Hugging Face hub: repositories with branches, tags and commits, large files in a storage of their own, tokens, private
//! and gated repositories, and the errors of the real one. The official Python clients run against it in `tests/hub.rs`.
//!
//! Without Xet, as the hub is for a client that does not have it.

mod client;
mod fault;
mod repository;
mod routes;
mod wire;

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

pub use fault::Fault;
use fault::Planned;
use repository::State;
pub use repository::{Kind, Repository};
pub use wire::Logged;
use wire::{Host, serve};

/// Ends when it is dropped, with all transfers under way.
pub struct Hub {
    shared: Arc<Shared>,
    addresses: [SocketAddr; 2],
}

/// What all connections see.
struct Shared {
    /// `http://127.0.0.1:<port>`
    endpoint: String,
    /// Of another host, as on the real hub.
    storage: String,
    state: Mutex<State>,
    faults: Mutex<Vec<Planned>>,
    log: Mutex<Vec<Logged>>,
    connections: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
    /// Told when stalled bodies may go on.
    released: Condvar,
    is_released: Mutex<bool>,
}

impl Hub {
    /// An empty hub.
    #[must_use]
    pub fn start() -> Self {
        let hub = TcpListener::bind("127.0.0.1:0").unwrap();
        let storage = TcpListener::bind("127.0.0.2:0").unwrap();
        let addresses = [hub.local_addr().unwrap(), storage.local_addr().unwrap()];
        let shared = Arc::new(Shared {
            endpoint: format!("http://{}", addresses[0]),
            storage: format!("http://{}", addresses[1]),
            state: Mutex::default(),
            faults: Mutex::default(),
            log: Mutex::default(),
            connections: Mutex::default(),
            is_over: AtomicBool::new(false),
            released: Condvar::new(),
            is_released: Mutex::new(false),
        });
        for (host, listener) in [(Host::Hub, hub), (Host::Storage, storage)] {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.accept(host, &listener));
        }
        Self { shared, addresses }
    }

    /// What `HF_ENDPOINT` should say.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    /// The address of the storage that large files are redirected to.
    #[must_use]
    pub fn storage(&self) -> &str {
        &self.shared.storage
    }

    /// A dataset, made if there is none of that name.
    #[must_use]
    pub fn dataset(&self, id: &str) -> Repository<'_> {
        Repository::new(self, Kind::Dataset, id)
    }

    /// A model, made if there is none of that name.
    #[must_use]
    pub fn model(&self, id: &str) -> Repository<'_> {
        Repository::new(self, Kind::Model, id)
    }

    /// A space, made if there is none of that name.
    #[must_use]
    pub fn space(&self, id: &str) -> Repository<'_> {
        Repository::new(self, Kind::Space, id)
    }

    /// Makes a token known that has no rights beyond those of everyone.
    pub fn account(&self, token: &str) {
        self.state().accounts.insert(token.to_owned());
    }

    /// How many entries a page of a listing has; a thousand unless this says otherwise.
    pub fn page_size(&self, entries: usize) {
        self.state().page = entries;
    }

    /// Answers the next `times` requests whose path and query contain `part` with a fault. The storage's paths start with
    /// `/repos/`, those of files on the hub have `/resolve/` in them.
    pub fn plan(&self, part: &str, times: usize, fault: Fault) {
        self.shared
            .faults
            .lock()
            .unwrap()
            .push(Planned::new(part, times, fault));
    }

    /// Lets all stalled bodies go on.
    pub fn release(&self) {
        *self.shared.is_released.lock().unwrap() = true;
        self.shared.released.notify_all();
    }

    /// All requests so far, in the order in which they came.
    #[must_use]
    pub fn log(&self) -> Vec<Logged> {
        self.shared.log.lock().unwrap().clone()
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        self.shared.log.lock().unwrap().clear();
    }

    /// How many bytes of files were sent so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        let log = self.shared.log.lock().unwrap();
        log.iter()
            .filter(|logged| logged.is_file() && matches!(logged.status, 200 | 206))
            .map(|logged| logged.sent)
            .sum()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, host: Host, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            if let Ok(other) = stream.try_clone() {
                self.connections.lock().unwrap().push(other);
            }
            let shared = Arc::clone(self);
            thread::spawn(move || {
                // A client that hangs up is none of our business.
                let _ = serve(&shared, host, &stream);
                let _ = stream.shutdown(Shutdown::Both);
            });
        }
    }

    /// Holds a body back until it may go on.
    fn stall(&self) {
        let mut is_released = self.is_released.lock().unwrap();
        while !*is_released {
            is_released = self.released.wait(is_released).unwrap();
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.release();
        for connection in self.shared.connections.lock().unwrap().iter() {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
        }
        for address in self.addresses {
            // Wakes the thread that waits for connections.
            let _ = TcpStream::connect(address);
        }
    }
}
