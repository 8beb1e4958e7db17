//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! hyper's connection is usually a task of its own. Here the task that sends a request polls it as well, so that no other
//! task stands between the socket and the measurement.

mod pool;
mod socket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reprise_contract::FailureCause;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::answer::Fault;
use crate::target::{Resolved, Target};

pub(crate) use pool::{IDLE_LIMIT, Pool};
pub(crate) use socket::Stamps;
use socket::{Stamped, Stream};

type Driver = http1::Connection<TokioIo<Box<dyn Stream>>, Full<Bytes>>;

/// An open connection that carries one request at a time.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
    stamps: Rc<Stamps>,
    is_closed: bool,
    idle_since: Instant,
}

impl Connection {
    /// Opens a connection to `target`, trying its addresses in order from the `turn`th on.
    pub(crate) async fn open(
        target: &Target,
        addresses: &Resolved,
        turn: usize,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Self, Fault> {
        let addresses = addresses
            .0
            .as_ref()
            .map_err(|error| Fault::new(FailureCause::Dns, format!("{}: {error}", target.host)))?;
        let tcp = connect(addresses, turn)
            .await
            .map_err(|error| connect_fault(target, &error))?;
        let stamps = Rc::<Stamps>::default();
        let stamped = Stamped::new(tcp, stamps.clone());
        let stream: Box<dyn Stream> = match (tls, &target.tls_name) {
            (Some(tls), Some(name)) => {
                let handshake = TlsConnector::from(tls.clone()).connect(name.clone(), stamped);
                Box::new(handshake.await.map_err(|error| {
                    Fault::new(FailureCause::Tls, format!("{error} at {}", target.authority))
                })?)
            }
            _ => Box::new(stamped),
        };
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| http_fault(&error))?;
        Ok(Self {
            sender,
            driver,
            stamps,
            is_closed: false,
            idle_since: Instant::now(),
        })
    }

    /// When bytes went and came.
    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Sends a request and waits for the head of its answer. Calls `on_sent` with the instant of its first byte as soon as that
    /// is written, so that it is known also when the wait is given up.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        on_sent: impl FnOnce(Instant),
    ) -> Result<Response<Incoming>, Fault> {
        self.stamps.expect_write();
        let mut answer = pin!(self.sender.send_request(request));
        let (driver, is_closed) = (&mut self.driver, &mut self.is_closed);
        let mut on_sent = Some(on_sent);
        let answer = std::future::poll_fn(|context| {
            // First the connection, so that the request is written; then what has come of it.
            drive(driver, is_closed, context);
            if let Some(sent) = self.stamps.first_write()
                && let Some(on_sent) = on_sent.take()
            {
                on_sent(sent);
            }
            answer.as_mut().poll(context)
        });
        answer.await.map_err(|error| http_fault(&error))
    }

    /// Waits for the next frame of an answer's body; `None` at its end.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Result<Option<Frame<Bytes>>, Fault> {
        let frame = std::future::poll_fn(|context| {
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) {
                return Poll::Ready(frame);
            }
            drive(&mut self.driver, &mut self.is_closed, context);
            Pin::new(&mut *body).poll_frame(context)
        });
        frame.await.transpose().map_err(|error| http_fault(&error))
    }

    /// Whether it can carry another request, after a look at what the server has done in the meantime.
    async fn is_ready(&mut self) -> bool {
        let (driver, is_closed) = (&mut self.driver, &mut self.is_closed);
        std::future::poll_fn(|context| {
            drive(driver, is_closed, context);
            Poll::Ready(())
        })
        .await;
        !self.is_closed && self.sender.is_ready()
    }
}

/// Lets the connection write what is to be written and read what has come. Its own error is also that of the request.
fn drive(driver: &mut Driver, is_closed: &mut bool, context: &mut Context<'_>) {
    if !*is_closed && Pin::new(driver).poll(context).is_ready() {
        *is_closed = true;
    }
}

async fn connect(addresses: &[SocketAddr], turn: usize) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let first = turn % addresses.len().max(1);
    for address in addresses[first..].iter().chain(&addresses[..first]) {
        match TcpStream::connect(address).await {
            Ok(tcp) => {
                tcp.set_nodelay(true)?;
                return Ok(tcp);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect_fault(target: &Target, error: &io::Error) -> Fault {
    let cause = match error.kind() {
        _ if is_out_of_descriptors(error) => FailureCause::LocalLimit,
        // No local port is left.
        io::ErrorKind::AddrNotAvailable => FailureCause::LocalLimit,
        io::ErrorKind::ConnectionRefused => FailureCause::ConnectionRefused,
        // A server that resets what it has just accepted: whether that is seen here or by the request is chance.
        io::ErrorKind::ConnectionReset => FailureCause::ConnectionClosed,
        _ => FailureCause::ConnectionFailed,
    };
    Fault::new(cause, format!("{} at {}", error, target.authority))
}

/// Whether this process, or this machine, may open no more files.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error).is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
}

fn http_fault(error: &hyper::Error) -> Fault {
    let source = std::error::Error::source(error);
    let cause = if error.is_parse() || source.is_some_and(is_malformed) {
        FailureCause::InvalidAnswer
    } else {
        FailureCause::ConnectionClosed
    };
    let source = source.map(|source| format!(": {source}")).unwrap_or_default();
    Fault::new(cause, format!("{error}{source}"))
}

/// Whether a body breaks the rules of HTTP (a chunk without a size), which hyper tells as an input error of its own.
fn is_malformed(source: &(dyn std::error::Error + 'static)) -> bool {
    source.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
        )
    })
}
