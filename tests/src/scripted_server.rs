//! An HTTP/1.1 server that does exactly what a test says, byte by byte: also what no good server does.
//!
//! One thread a connection. What a script does not end stays open: the next request of the connection is read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A test that waits longer than this for something that must happen has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// One thing that a server does on a connection.
#[derive(Clone)]
pub enum Step {
    /// Writes these bytes at once.
    Write(Vec<u8>),
    /// Does nothing for a while.
    Pause(Duration),
    /// Does nothing until the gate opens.
    Wait(Gate),
    /// Does nothing until the client goes away.
    Stall,
    /// Closes the connection in an orderly way.
    Close,
    /// Closes the connection with a TCP reset.
    Reset,
}

impl Step {
    /// Writes a text.
    #[must_use]
    pub fn write(bytes: impl AsRef<[u8]>) -> Self {
        Self::Write(bytes.as_ref().to_vec())
    }
}

/// A gate that is shut until somebody opens it. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets everyone pass, for good.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        let (open, _) = self
            .0
            .1
            .wait_timeout_while(open, PATIENCE, |open| !*open)
            .unwrap();
        assert!(*open, "nobody opened the gate");
    }
}

/// A request that came in.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its place among all requests of the server, from 0.
    pub index: usize,
    /// The connection's place among all connections of the server, from 0.
    pub connection: usize,
    /// Its head, without the blank line.
    pub head: String,
    /// Its body.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header, if it was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

type Script = dyn Fn(&Received) -> Vec<Step> + Send + Sync;

/// A running server. It stops listening when it is dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// What to do before anything is read.
    greeting: Vec<Step>,
    script: Box<Script>,
    tls: Option<Arc<ServerConfig>>,
    is_over: AtomicBool,
    seen: Mutex<Seen>,
    has_changed: Condvar,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Received>,
    in_flight: usize,
    most_in_flight: usize,
}

impl ScriptedServer {
    /// A server that does for each request what `script` says.
    pub fn start(script: impl Fn(&Received) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::listen(Vec::new(), Box::new(script), None)
    }

    /// A server that answers every request with these bytes.
    #[must_use]
    pub fn answering(answer: Vec<u8>) -> Self {
        Self::start(move |_| vec![Step::Write(answer.clone())])
    }

    /// A server that does this on every connection before it reads anything, and then closes.
    #[must_use]
    pub fn greeting(mut steps: Vec<Step>) -> Self {
        steps.push(Step::Close);
        Self::listen(steps, Box::new(|_| Vec::new()), None)
    }

    /// As [`ScriptedServer::answering`], over TLS.
    #[must_use]
    pub fn answering_over_tls(tls: Arc<ServerConfig>, answer: Vec<u8>) -> Self {
        let script = move |_: &Received| vec![Step::Write(answer.clone())];
        Self::listen(Vec::new(), Box::new(script), Some(tls))
    }

    fn listen(greeting: Vec<Step>, script: Box<Script>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            greeting,
            script,
            tls,
            is_over: AtomicBool::new(false),
            seen: Mutex::default(),
            has_changed: Condvar::new(),
        });
        let accepting = shared.clone();
        thread::spawn(move || accepting.accept(&listener));
        Self { address, shared }
    }

    /// The URL of a server without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far, in the order in which they were read.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.shared.seen.lock().unwrap().requests.clone()
    }

    /// How many connections there were so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.seen.lock().unwrap().connections
    }

    /// How many different connections carried a request so far.
    #[must_use]
    pub fn used_connections(&self) -> usize {
        let used = self.requests().into_iter().map(|request| request.connection);
        used.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The most requests that were in flight at the same time.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.shared.seen.lock().unwrap().most_in_flight
    }

    /// Waits until so many requests have come in.
    pub fn wait_for_requests(&self, count: usize) {
        let seen = self.shared.seen.lock().unwrap();
        let too_few = |seen: &mut Seen| seen.requests.len() < count;
        let (seen, _) = self
            .shared
            .has_changed
            .wait_timeout_while(seen, PATIENCE, too_few)
            .unwrap();
        assert!(
            seen.requests.len() >= count,
            "only {} requests came",
            seen.requests.len()
        );
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Ends the wait for the next connection.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for tcp in listener.incoming() {
            let tcp = tcp.unwrap();
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let connection = {
                let mut seen = self.seen.lock().unwrap();
                seen.connections += 1;
                seen.connections - 1
            };
            let shared = self.clone();
            thread::spawn(move || {
                // A connection that breaks is the client's doing, and what tests are about.
                let _ = shared.serve(tcp, connection);
            });
        }
    }

    fn serve(&self, tcp: TcpStream, connection: usize) -> io::Result<()> {
        tcp.set_nodelay(true)?;
        let mut wire = Wire::new(tcp, self.tls.clone())?;
        if !self.greeting.is_empty() {
            wire.perform(&self.greeting)?;
            return Ok(());
        }
        let mut unread = Vec::new();
        while let Some((head, body)) = read_request(&mut wire, &mut unread)? {
            let request = self.arrived(connection, head, body);
            let is_open = wire.perform(&(self.script)(&request));
            self.seen.lock().unwrap().in_flight -= 1;
            if !is_open? {
                break;
            }
        }
        Ok(())
    }

    fn arrived(&self, connection: usize, head: String, body: Vec<u8>) -> Received {
        let mut seen = self.seen.lock().unwrap();
        let request = Received {
            index: seen.requests.len(),
            connection,
            head,
            body,
        };
        seen.requests.push(request.clone());
        seen.in_flight += 1;
        seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
        self.has_changed.notify_all();
        request
    }
}

/// A connection, with or without TLS.
struct Wire {
    tcp: TcpStream,
    stream: Box<dyn Stream>,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Wire {
    fn new(tcp: TcpStream, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let stream: Box<dyn Stream> = match tls {
            Some(tls) => {
                let session = ServerConnection::new(tls).map_err(io::Error::other)?;
                Box::new(StreamOwned::new(session, tcp.try_clone()?))
            }
            None => Box::new(tcp.try_clone()?),
        };
        Ok(Self { tcp, stream })
    }

    /// Says whether the connection is still open.
    fn perform(&mut self, steps: &[Step]) -> io::Result<bool> {
        for step in steps {
            match step {
                Step::Write(bytes) => {
                    self.stream.write_all(bytes)?;
                    self.stream.flush()?;
                }
                Step::Pause(time) => thread::sleep(*time),
                Step::Wait(gate) => gate.pass(),
                Step::Stall => {
                    io::copy(&mut self.stream, &mut io::sink())?;
                    return Ok(false);
                }
                Step::Close => {
                    self.tcp.shutdown(Shutdown::Write)?;
                    // What is unread when a socket is closed turns the orderly close into a reset.
                    io::copy(&mut self.tcp, &mut io::sink())?;
                    return Ok(false);
                }
                Step::Reset => {
                    rustix::net::sockopt::set_socket_linger(&self.tcp, Some(Duration::ZERO))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Reads one request; `None` when the client has no more. Bytes beyond it stay in `unread`.
fn read_request(wire: &mut Wire, unread: &mut Vec<u8>) -> io::Result<Option<(String, Vec<u8>)>> {
    let head_end = loop {
        if let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if read_more(wire, unread)? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&unread[..head_end]).into_owned();
    let length = content_length(&head);
    unread.drain(..head_end + 4);
    while unread.len() < length {
        if read_more(wire, unread)? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((head, unread.drain(..length).collect())))
}

fn read_more(wire: &mut Wire, unread: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 16 << 10];
    let read = wire.stream.read(&mut buffer)?;
    unread.extend_from_slice(&buffer[..read]);
    Ok(read)
}

fn content_length(head: &str) -> usize {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.trim().parse().unwrap())
}
