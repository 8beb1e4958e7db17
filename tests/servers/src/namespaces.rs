//! Network namespaces: machines of their own as far as the network goes, each connected to this one by a cable. Only root may
//! make them.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU16, Ordering};

/// The first two bytes of all addresses; a range for private use, which others seldom choose.
const NETWORK: [u8; 2] = [10, 213];
/// Networks of four addresses in it.
const NETWORKS: u16 = 1 << 14;

/// A network namespace with one interface besides loopback. It and its cable go when it is dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    network: Ipv4Addr,
}

impl Namespace {
    /// Makes one.
    #[must_use]
    pub fn make() -> Self {
        static MADE: AtomicU16 = AtomicU16::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        // Tests in other processes make some as well: each begins elsewhere.
        let process = process::id();
        let first = u16::try_from(process.wrapping_mul(61) % u32::from(NETWORKS)).expect("less than that");
        let [high, low] = ((first + number) % NETWORKS * 4).to_be_bytes();
        let namespace = Self {
            // An interface may have 15 characters in its name.
            name: format!("rp{process}n{number}"),
            network: Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low),
        };
        namespace.set_up();
        namespace
    }

    fn set_up(&self) {
        let Self { name, .. } = self;
        let inner = format!("{name}i");
        let (gateway, address) = (format!("{}/30", self.gateway()), format!("{}/30", self.address()));
        ip(["netns", "add", name]);
        ip([
            "link", "add", name, "type", "veth", "peer", "name", &inner, "netns", name,
        ]);
        ip(["address", "add", &gateway, "dev", name]);
        ip(["link", "set", name, "up"]);
        ip(["-n", name, "address", "add", &address, "dev", &inner]);
        ip(["-n", name, "link", "set", &inner, "up"]);
        ip(["-n", name, "link", "set", "lo", "up"]);
    }

    /// This machine, as seen from the namespace.
    #[must_use]
    pub fn gateway(&self) -> Ipv4Addr {
        self.host(1)
    }

    /// The namespace, as seen from this machine.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.host(2)
    }

    fn host(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() + number)
    }

    /// Runs `program` in the namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Unplugs the cable. Connections stay as they are, and nothing gets through.
    pub fn unplug(&self) {
        ip(["link", "set", &self.name, "down"]);
    }

    /// Plugs it in again.
    pub fn plug_in(&self) {
        ip(["link", "set", &self.name, "up"]);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The cable goes with one of its ends, but only once nothing runs in the namespace.
        for arguments in [["link", "delete", &self.name], ["netns", "delete", &self.name]] {
            let deleted = Command::new("ip").args(arguments).status();
            if !deleted.is_ok_and(|status| status.success()) {
                eprintln!("ip {} failed", arguments.join(" "));
            }
        }
    }
}

fn ip<const N: usize>(arguments: [&str; N]) {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .expect("ip is there: run scripts/tools");
    assert!(
        output.status.success(),
        "ip {} failed, which needs root: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn programs_in_namespaces_reach_this_machine_and_are_told_apart() {
        let namespaces = [Namespace::make(), Namespace::make(), Namespace::make()];
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        for namespace in &namespaces {
            let script = format!(
                "exec 3<>/dev/tcp/{}/{port}; read -r word <&3; echo $word",
                namespace.gateway()
            );
            let child = namespace
                .command("bash")
                .args(["-c", &script])
                .stdout(process::Stdio::piped())
                .spawn();
            let mut child = child.unwrap();
            let (mut stream, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), namespace.address());
            stream.write_all(b"hello\n").unwrap();
            let mut said = String::new();
            child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(child.wait().unwrap().success());
            assert_eq!(said, "hello\n");
        }
    }

    #[test]
    fn nothing_is_left_of_a_namespace() {
        let namespace = Namespace::make();
        let name = namespace.name.clone();
        let listed = || {
            let listed = Command::new("ip").args(["-o", "link"]).output().unwrap().stdout;
            let spaces = Command::new("ip")
                .args(["netns", "list"])
                .output()
                .unwrap()
                .stdout;
            let text = String::from_utf8([listed, spaces].concat()).unwrap();
            text.matches(&name).count()
        };
        assert!(listed() >= 2);
        drop(namespace);
        assert_eq!(listed(), 0);
    }
}
