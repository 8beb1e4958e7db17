//! A socket that notes when bytes go and come.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What HTTP is spoken over: a socket, or TLS on one.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// When bytes went and came on one socket.
#[derive(Default)]
pub(crate) struct Stamps {
    first_write: Cell<Option<Instant>>,
    last_read: Cell<Option<Instant>>,
}

impl Stamps {
    /// From now on, the next write is the first.
    pub(super) fn expect_write(&self) {
        self.first_write.set(None);
    }

    /// When the first byte of the current request was written, if one was.
    pub(super) fn first_write(&self) -> Option<Instant> {
        self.first_write.get()
    }

    /// When bytes last came. Before any came, now.
    pub(crate) fn last_read(&self) -> Instant {
        self.last_read.get().unwrap_or_else(Instant::now)
    }
}

/// A socket that notes when bytes go and come.
pub(super) struct Stamped {
    tcp: TcpStream,
    stamps: std::rc::Rc<Stamps>,
}

impl Stamped {
    pub(super) fn new(tcp: TcpStream, stamps: std::rc::Rc<Stamps>) -> Self {
        Self { tcp, stamps }
    }

    /// Notes the instant just before the write that the kernel took.
    fn write(
        &mut self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let before = Instant::now();
        let written = write(Pin::new(&mut self.tcp));
        if matches!(written, Poll::Ready(Ok(1..))) && self.stamps.first_write.get().is_none() {
            self.stamps.first_write.set(Some(before));
        }
        written
    }
}

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(context, buffer);
        if buffer.filled().len() > filled {
            self.stamps.last_read.set(Some(Instant::now()));
        }
        read
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(|tcp| tcp.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(|tcp| tcp.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
