//! Listening, serving connections, and stopping.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::arrivals::{Arrival, Arrivals, Summary};
use crate::clock::{Epoch, monotonic_ns};
use crate::config::Config;
use crate::service::Service;
use crate::stamped_socket::{StampedSocket, stamp_accepted};
use crate::timer::Timer;

/// Connections that may wait to be accepted, so that a burst of new ones is not turned away.
const BACKLOG: u32 = 4096;

/// How long nothing is accepted after accepting failed, for example for want of file descriptors.
const ACCEPT_PAUSE_NS: u64 = 10_000_000;

/// After so many steps of tasks, waiting sockets and timers are looked at again even if tasks are ready.
const EVENT_INTERVAL: u32 = 16;

/// Why an endpoint did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("Cannot listen on {address}: {source}. Choose another address or port; port 0 picks a free one.")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The arrival log cannot be written.
    #[error("Cannot write the arrival log{}: {source}. Choose a file in a folder that can be written.",
        path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default())]
    ArrivalLog {
        /// The file asked for.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
    /// The system gave no timer, thread or runtime.
    #[error("Cannot start the endpoint: {0}. Free some of the system's resources, such as file descriptors.")]
    System(#[source] io::Error),
}

/// What went wrong while an endpoint ran or stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// The arrival log is incomplete.
    #[error("Cannot complete the arrival log: {0}. Make room for it and run again.")]
    ArrivalLog(#[source] io::Error),
    /// The endpoint broke down.
    #[error("Cannot go on serving: {0}. Start the endpoint again.")]
    Broken(#[source] io::Error),
}

/// A running endpoint, as far as it can be looked at. Clones show the same one, also after it has stopped.
#[derive(Debug, Clone)]
pub struct Endpoint {
    address: SocketAddr,
    arrivals: Arc<Arrivals>,
}

impl Endpoint {
    /// Where the endpoint listens, with the port that was picked.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The arrivals so far whose requests have been answered or given up, by index. A stream counts as answered when
    /// its head goes out. Empty if [`ArrivalLog::in_memory`](crate::ArrivalLog::in_memory) is off.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.list()
    }

    /// The counts so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.arrivals.summary()
    }

    /// Forgets all arrivals and counts; the next request has index 0 and what is drawn for it starts again.
    pub fn reset_arrivals(&self) {
        self.arrivals.reset();
    }
}

/// An endpoint on the caller's tokio runtime. Dropping it stops the endpoint without waiting.
#[derive(Debug)]
pub struct Handle {
    endpoint: Endpoint,
    stop: Stop,
    server: JoinHandle<Result<(), StopError>>,
}

/// An endpoint on a thread of its own. Dropping it stops the endpoint without waiting.
#[derive(Debug)]
pub struct ThreadHandle {
    endpoint: Endpoint,
    stop: Stop,
    thread: thread::JoinHandle<Result<(), StopError>>,
}

/// Nothing is ever sent: dropping it is the signal to stop.
type Stop = oneshot::Sender<Infallible>;

/// Starts an endpoint on the current tokio runtime, which must have I/O enabled. It listens once this returns.
///
/// # Errors
///
/// When the address cannot be listened on, the arrival log cannot be written, or the system gives no timer.
#[allow(
    clippy::unused_async,
    reason = "a future is sure to be polled on a runtime, which a call is not"
)]
pub async fn start(config: Config) -> Result<Handle, StartError> {
    let prepared = Prepared::new(config)?;
    let endpoint = prepared.endpoint.clone();
    let (stop, stopped) = oneshot::channel();
    Ok(Handle {
        endpoint,
        stop,
        server: tokio::spawn(prepared.serve(stopped)),
    })
}

/// Starts an endpoint on a thread and a runtime of its own. It listens once this returns.
///
/// # Errors
///
/// As [`start`], and when the system gives no thread.
pub fn start_on_own_thread(config: Config) -> Result<ThreadHandle, StartError> {
    let runtime = runtime(NonZeroUsize::MIN).map_err(StartError::System)?;
    let (report, reported) = mpsc::sync_channel(1);
    let run = move || {
        runtime.block_on(async move {
            let (stop, stopped) = oneshot::channel();
            let (outcome, prepared) = match Prepared::new(config) {
                Ok(prepared) => (Ok((prepared.endpoint.clone(), stop)), Some(prepared)),
                Err(failure) => (Err(failure), None),
            };
            match (report.send(outcome), prepared) {
                (Ok(()), Some(prepared)) => prepared.serve(stopped).await,
                _ => Ok(()),
            }
        })
    };
    let thread = thread::Builder::new()
        .name("mock-endpoint".to_owned())
        .spawn(run)
        .map_err(StartError::System)?;
    let (endpoint, stop) = reported
        .recv()
        .map_err(|failure| StartError::System(io::Error::other(failure)))??;
    Ok(ThreadHandle {
        endpoint,
        stop,
        thread,
    })
}

/// Makes a runtime that suits an endpoint: with one thread, the caller's, or with several of its own.
///
/// # Errors
///
/// When the system gives no thread or no poll instance.
pub fn runtime(threads: NonZeroUsize) -> io::Result<Runtime> {
    let mut builder = if threads == NonZeroUsize::MIN {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder
        .worker_threads(threads.get())
        .event_interval(EVENT_INTERVAL)
        .enable_io()
        .build()
}

impl Handle {
    /// Stops the endpoint: closes all connections, also those in the middle of an answer, and completes the log file.
    ///
    /// # Errors
    ///
    /// When the log file is incomplete or the endpoint broke down earlier.
    pub async fn shutdown(self) -> Result<(), StopError> {
        drop(self.stop);
        self.server
            .await
            .unwrap_or_else(|failure| Err(StopError::Broken(io::Error::other(failure))))
    }

    /// Waits for the endpoint to break down by itself, which it does only when the system's timer fails.
    ///
    /// # Errors
    ///
    /// Always, with the reason.
    pub async fn broken(&mut self) -> Result<(), StopError> {
        (&mut self.server)
            .await
            .unwrap_or_else(|failure| Err(StopError::Broken(io::Error::other(failure))))
    }
}

impl ThreadHandle {
    /// Stops the endpoint: closes all connections, also those in the middle of an answer, and completes the log file.
    ///
    /// # Errors
    ///
    /// When the log file is incomplete or the endpoint broke down earlier.
    pub fn shutdown(self) -> Result<(), StopError> {
        drop(self.stop);
        let panicked = |_| {
            Err(StopError::Broken(io::Error::other(
                "the endpoint's thread panicked",
            )))
        };
        self.thread.join().unwrap_or_else(panicked)
    }
}

impl Deref for Handle {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Deref for ThreadHandle {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// An endpoint that listens but does not answer yet.
struct Prepared {
    endpoint: Endpoint,
    listener: TcpListener,
    timer: Timer,
    service: Arc<Service>,
}

impl Prepared {
    fn new(config: Config) -> Result<Self, StartError> {
        let listener = listen(config.listen).map_err(|source| StartError::Listen {
            address: config.listen,
            source,
        })?;
        let address = listener.local_addr().map_err(StartError::System)?;
        let timer = Timer::new().map_err(StartError::System)?;
        let log = config.arrivals.clone();
        let path = log.file.clone();
        let arrivals =
            Arrivals::open(Epoch::now(), log).map_err(|source| StartError::ArrivalLog { path, source })?;
        let arrivals = Arc::new(arrivals);
        let endpoint = Endpoint {
            address,
            arrivals: Arc::clone(&arrivals),
        };
        let service = Arc::new(Service::new(config, timer.clone(), arrivals));
        Ok(Self {
            endpoint,
            listener,
            timer,
            service,
        })
    }

    /// Serves until told to stop, then closes connections and the log.
    async fn serve(self, stopped: oneshot::Receiver<Infallible>) -> Result<(), StopError> {
        let mut connections = JoinSet::new();
        let outcome = tokio::select! {
            _ = stopped => Ok(()),
            failure = self.timer.drive() => failure.map(|never| match never {}).map_err(StopError::Broken),
            failure = self.accept_into(&mut connections) => {
                failure.map(|never| match never {}).map_err(StopError::Broken)
            }
        };
        connections.shutdown().await;
        let arrivals = self.endpoint.arrivals;
        let closed = tokio::task::spawn_blocking(move || arrivals.close())
            .await
            .unwrap_or_else(|failure| Err(io::Error::other(failure)))
            .map_err(StopError::ArrivalLog);
        outcome.and(closed)
    }

    async fn accept_into(&self, connections: &mut JoinSet<()>) -> io::Result<Infallible> {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    if let Ok(stream) = accepted.and_then(without_delay) {
                        connections.spawn(serve_connection(stream, Arc::clone(&self.service)));
                    } else {
                        self.endpoint.arrivals.count_accept_error();
                        self.timer.sleep_until(monotonic_ns() + ACCEPT_PAUSE_NS).await?;
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    stamp_accepted(&listener)?;
    Ok(listener)
}

fn without_delay((stream, _): (TcpStream, SocketAddr)) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn serve_connection(stream: TcpStream, service: Arc<Service>) {
    let (socket, last_arrival) = StampedSocket::new(stream);
    let answer = service_fn(move |request| Arc::clone(&service).answer(last_arrival.monotonic_ns(), request));
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(socket), answer)
        .await;
    // A connection breaks when a client leaves or asked for it; its request is in the log either way.
    drop(served);
}
