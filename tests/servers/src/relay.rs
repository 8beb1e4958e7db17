//! A bad line: a TCP relay that delays what it passes on, and that can be slow, silent or cut.
//!
//! For kernels without netem. What is sent arrives whole and in order, as TCP gives it to programs; a lost packet is what the
//! jitter looks like.

mod line;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

pub use line::Line;
use line::{Delays, Meter};

/// Bytes that are passed on as one.
const PIECE: usize = 16 << 10;
/// Pieces on their way in one direction of a connection; whoever sends more has to wait.
const PIECES_ON_THEIR_WAY: usize = 256;

/// Passes connections on to a server until it is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Silent,
    Cut,
}

/// What all connections have in common.
#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    line: Line,
    /// One for each direction.
    meters: [Meter; 2],
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Connections so far.
    accepted: u64,
    /// Both ends of those that are open.
    open: Vec<(u64, [TcpStream; 2])>,
}

/// A part of what was sent.
struct Piece {
    due: Instant,
    content: Vec<u8>,
}

impl Relay {
    /// A relay on loopback.
    #[must_use]
    pub fn start(server: SocketAddr, line: Line) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, server, line)
    }

    /// A relay at an address of this machine: that of a network namespace's gateway, or all.
    #[must_use]
    pub fn start_at(address: Ipv4Addr, server: SocketAddr, line: Line) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a free port");
        let shared = Arc::new(Shared {
            server,
            line,
            meters: [Meter::new(line), Meter::new(line)],
            inner: Mutex::new(Inner {
                state: State::Open,
                accepted: 0,
                open: Vec::new(),
            }),
            changed: Condvar::new(),
        });
        let relay = Self {
            address: listener.local_addr().expect("its address"),
            shared: Arc::clone(&shared),
        };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server may be away, and either side may go at any time: the other one sees that.
                let _ = shared.accept(client);
            }
        });
        relay
    }

    /// Where clients are to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far, those that were refused included.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.lock().accepted
    }

    /// Breaks all connections, and new ones as soon as they are made.
    pub fn cut(&self) {
        self.shared.set(State::Cut);
    }

    /// Lets nothing through, and breaks nothing: neither side can tell it from a slow line.
    pub fn silence(&self) {
        self.shared.set(State::Silent);
    }

    /// Lets everything through again, what was held back first.
    pub fn heal(&self) {
        self.shared.set(State::Open);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic")
    }

    fn set(&self, state: State) {
        let mut inner = self.lock();
        inner.state = state;
        if state == State::Cut {
            inner.open.drain(..).for_each(|(_, ends)| close(&ends));
        }
        self.changed.notify_all();
    }

    /// Waits while nothing is let through. Whether the line is open then.
    fn wait(&self) -> bool {
        let inner = self.lock();
        let waited = self
            .changed
            .wait_while(inner, |inner| inner.state == State::Silent);
        waited.expect("no panic").state == State::Open
    }

    fn accept(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        let number = {
            let mut inner = self.lock();
            inner.accepted += 1;
            inner.accepted
        };
        let server = TcpStream::connect(self.server)?;
        for end in [&client, &server] {
            end.set_nodelay(true)?;
        }
        {
            let mut inner = self.lock();
            let ends = [client.try_clone()?, server.try_clone()?];
            if inner.state == State::Cut {
                close(&ends);
                return Ok(());
            }
            inner.open.push((number, ends));
        }
        let [there, back] = &self.meters;
        let delays = |direction| Delays::new(self.line, number * 2 + direction);
        let directions = [
            (client.try_clone()?, server.try_clone()?, there.clone(), delays(0)),
            (server, client, back.clone(), delays(1)),
        ];
        let left = Arc::new(AtomicUsize::new(directions.len()));
        for (from, to, meter, delays) in directions {
            let (sender, pieces) = sync_channel(PIECES_ON_THEIR_WAY);
            thread::spawn(move || read(from, &sender, &meter, delays));
            let (shared, left) = (Arc::clone(self), Arc::clone(&left));
            thread::spawn(move || {
                let is_broken = shared.write(to, &pieces).is_err();
                // Whoever breaks off takes the other side along.
                if left.fetch_sub(1, Ordering::Relaxed) == 1 || is_broken {
                    shared.close(number);
                }
            });
        }
        Ok(())
    }

    fn write(&self, mut to: TcpStream, pieces: &Receiver<Piece>) -> io::Result<()> {
        for piece in pieces {
            thread::sleep(piece.due.saturating_duration_since(Instant::now()));
            if !self.wait() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            to.write_all(&piece.content)?;
        }
        to.shutdown(Shutdown::Write)
    }

    fn close(&self, number: u64) {
        let mut inner = self.lock();
        let closed = inner.open.extract_if(.., |(open, _)| *open == number);
        closed.for_each(|(_, ends)| close(&ends));
    }
}

/// Ends where the sender ends. An error ends it as well: the writer then sees that nothing more comes.
fn read(mut from: TcpStream, pieces: &SyncSender<Piece>, meter: &Meter, mut delays: Delays) {
    let mut buffer = vec![0; PIECE];
    let mut due = Instant::now();
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        // Nothing overtakes what was sent before it.
        due = due.max(meter.passed(bytes) + delays.next_delay());
        let content = buffer[..bytes].to_vec();
        if pieces.send(Piece { due, content }).is_err() {
            return;
        }
    }
}

fn close(ends: &[TcpStream; 2]) {
    for end in ends {
        // It may be closed already.
        let _ = end.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests;
