//! A socket that knows when what it reads reached the machine.
//!
//! The kernel stamps each packet as it comes in (`SO_TIMESTAMPNS`, see socket(7)). So a request that had to wait
//! until the endpoint had read 199 others still has the time at which it arrived.

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use nix::cmsg_space;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::{monotonic_ns, unix_ns};

/// Most bytes taken by one read. The buffer is zeroed before, so more would cost small requests time.
const MOST_PER_READ: usize = 64 * 1024;

/// A kernel stamp that is older, or in the future, tells of a wall clock that was set in between: it is not used.
const OLDEST_STAMP_NS: u64 = 60_000_000_000;

/// Asks the kernel to stamp what the sockets accepted from this listener receive; they inherit it.
pub(crate) fn stamp_accepted(listener: &TcpListener) -> io::Result<()> {
    Ok(setsockopt(listener, ReceiveTimestampns, &true)?)
}

/// When the latest bytes of a connection arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastArrival(Arc<AtomicU64>);

impl LastArrival {
    /// On the monotonic clock, in nanoseconds.
    pub(crate) fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection whose reads are stamped.
#[derive(Debug)]
pub(crate) struct StampedSocket {
    stream: TcpStream,
    last_arrival: LastArrival,
    /// Where the kernel puts a stamp.
    control: Vec<u8>,
}

impl StampedSocket {
    pub(crate) fn new(stream: TcpStream) -> (Self, LastArrival) {
        let last_arrival = LastArrival::default();
        let control = cmsg_space!(TimeSpec);
        (
            Self {
                stream,
                last_arrival: last_arrival.clone(),
                control,
            },
            last_arrival,
        )
    }

    /// Reads what is there, and notes when it arrived.
    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Self {
            stream,
            last_arrival,
            control,
        } = self;
        let mut parts = [IoSliceMut::new(room)];
        let received = stream.try_io(Interest::READABLE, || {
            Ok(recvmsg::<()>(
                stream.as_raw_fd(),
                &mut parts,
                Some(control),
                MsgFlags::empty(),
            )?)
        })?;
        let stamp = received.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => u64::try_from(stamp.num_nanoseconds()).ok(),
            _ => None,
        });
        last_arrival
            .0
            .store(arrival_ns(stamp, unix_ns(), monotonic_ns()), Ordering::Relaxed);
        Ok(received.bytes)
    }
}

/// Moves a stamp from the wall clock to the monotonic one, by its age. Without a usable stamp it is now.
fn arrival_ns(stamp_unix_ns: Option<u64>, now_unix_ns: u64, now_monotonic_ns: u64) -> u64 {
    let age_ns = stamp_unix_ns
        .and_then(|stamp| now_unix_ns.checked_sub(stamp))
        .filter(|age_ns| *age_ns <= OLDEST_STAMP_NS)
        .unwrap_or(0);
    now_monotonic_ns.saturating_sub(age_ns)
}

impl AsyncRead for StampedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(MOST_PER_READ);
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.receive(buffer.initialize_unfilled_to(most)) {
                Ok(bytes) => {
                    buffer.advance(bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for StampedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn a_stamp_is_moved_by_its_age() {
        assert_eq!(arrival_ns(Some(900), 1_000, 50_000), 49_900);
        for unusable in [None, Some(1_001)] {
            assert_eq!(arrival_ns(unusable, 1_000, 50_000), 50_000);
        }
        assert_eq!(arrival_ns(Some(0), OLDEST_STAMP_NS + 1, 50_000), 50_000);
    }

    #[test]
    fn the_time_of_arrival_is_not_the_time_of_reading() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            stamp_accepted(&listener).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut socket, last_arrival) = StampedSocket::new(listener.accept().await.unwrap().0);
            // The kernel may need a moment until it stamps, so the first bytes only set it going.
            for sent in [b"first", b"other"] {
                let before_ns = monotonic_ns();
                client.write_all(sent).await.unwrap();
                std::thread::sleep(Duration::from_millis(50));
                let reading_ns = monotonic_ns();
                let mut read = [0; 5];
                socket.read_exact(&mut read).await.unwrap();
                assert_eq!(&read, sent);
                let arrival_ns = last_arrival.monotonic_ns();
                // Reading two clocks takes a moment, so one can seem to be a little before the other.
                assert!(arrival_ns + 1_000_000 > before_ns);
                assert!(sent == b"first" || arrival_ns < reading_ns);
            }
        });
    }
}
