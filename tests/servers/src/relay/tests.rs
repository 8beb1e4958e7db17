use std::time::Duration;

use super::*;

/// Sends back what it gets, as it comes.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                // A line that is cut ends this.
                let _ = io::copy(&mut client.try_clone().unwrap(), &mut &client);
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

fn connect(relay: &Relay) -> TcpStream {
    TcpStream::connect(relay.address()).unwrap()
}

/// What comes back of `content`.
fn there_and_back(stream: &mut TcpStream, content: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(content)?;
    let mut back = vec![0; content.len()];
    stream.read_exact(&mut back)?;
    Ok(back)
}

fn slow() -> Line {
    Line {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(5),
        ..Line::default()
    }
}

#[test]
fn everything_arrives_in_order_and_not_too_soon() {
    let relay = Relay::start(echo(), slow());
    let content: Vec<u8> = (0_u32..500_000).flat_map(u32::to_le_bytes).collect();
    let mut stream = connect(&relay);
    let started = Instant::now();
    let sender = {
        let (mut stream, content) = (stream.try_clone().unwrap(), content.clone());
        thread::spawn(move || {
            stream.write_all(&content).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        })
    };
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    sender.join().unwrap();
    assert!(back == content);
    // At least: how much longer depends on the machine.
    assert!(started.elapsed() >= Duration::from_millis(30));
    assert_eq!(relay.connections(), 1);
}

#[test]
fn a_cut_breaks_connections_until_it_is_healed() {
    let relay = Relay::start(echo(), Line::default());
    let mut stream = connect(&relay);
    assert_eq!(there_and_back(&mut stream, b"one").unwrap(), b"one");
    relay.cut();
    assert!(there_and_back(&mut stream, b"two").is_err());
    assert!(there_and_back(&mut connect(&relay), b"three").is_err());
    relay.heal();
    assert_eq!(there_and_back(&mut connect(&relay), b"four").unwrap(), b"four");
}

#[test]
fn silence_breaks_nothing_and_holds_everything_back() {
    let relay = Relay::start(echo(), Line::default());
    let mut stream = connect(&relay);
    assert_eq!(there_and_back(&mut stream, b"one").unwrap(), b"one");
    relay.silence();
    stream.write_all(b"two").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let silent = stream.read(&mut [0; 8]).unwrap_err();
    assert!(
        matches!(silent.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        "{silent}"
    );
    relay.heal();
    stream.set_read_timeout(None).unwrap();
    let mut back = [0; 3];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"two");
}

#[test]
fn a_server_that_is_away_ends_the_connection() {
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, crate::free_port()));
    let relay = Relay::start(nobody, Line::default());
    assert!(there_and_back(&mut connect(&relay), b"one").is_err());
}
