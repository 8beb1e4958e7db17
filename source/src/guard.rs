//! Where whoever pins for others may connect to.
//!
//! A reference comes from someone who may not reach what this machine can: the metadata service of a cloud, the API
//! server of a cluster, a neighbour's database. So only public addresses are connected to, unless an admin allows more;
//! each address is checked after its name was resolved and before it is used, at every hop.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// With what the network is used: the means of the person at this machine, or nothing but the network itself.
#[derive(Clone, Debug, Default)]
pub enum Access {
    /// Whatever this user's environment, files and machine provide: proxies, tokens, profiles.
    #[default]
    Ambient,
    /// For pinning on behalf of others: no credential, no proxy, and only the addresses that the rules allow.
    Anonymous(AddressRules),
}

/// Which hosts and addresses may be connected to. By default all public addresses, under any name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Reachable although they are not public.
    networks: Vec<IpNet>,
    /// The only hosts there are; empty when there is no such list.
    hosts: Vec<HostPattern>,
}

/// An exact name, or all names below one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Exact(String),
    /// `*.example.org`, kept as `.example.org`.
    Below(String),
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRuleError {
    /// Neither an address nor a network.
    #[error(
        "Cannot use {text:?} as a network: it is neither an address nor one with a prefix length. Write it like \
         10.1.0.0/16, 10.1.2.3 or fd00:1::/64."
    )]
    Network {
        /// What was given.
        text: String,
    },
    /// Not a host's name.
    #[error(
        "Cannot use {text:?} as a host: it is not a host's name. Write it like data.example.org, or *.example.org \
         for all hosts below it."
    )]
    Host {
        /// What was given.
        text: String,
    },
}

/// Why something is not connected to. Says neither the address nor the host: both may be another's secret, or come from
/// a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardProblem {
    /// The host is not on the list.
    #[error(
        "its host, or one that it redirects to, is not on the list of hosts that may be reached from here. Let an \
         admin add it, or use a host on the list."
    )]
    Host,
    /// One of the addresses of the host is not allowed.
    #[error(
        "its host, or one that it redirects to, resolves to an address that is not public and may not be reached \
         from here. Let an admin allow its network, or use a public host."
    )]
    Address,
}

impl AddressRules {
    /// Allows a network (`10.1.0.0/16`) or an address besides the public ones.
    ///
    /// # Errors
    ///
    /// When the text is neither.
    pub fn allow_network(mut self, text: &str) -> Result<Self, AddressRuleError> {
        let network = text
            .parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| AddressRuleError::Network {
                text: text.to_owned(),
            })?;
        self.networks.push(network);
        Ok(self)
    }

    /// Allows a host by its name (`data.example.org`), or all hosts below a name (`*.example.org`). With one such rule
    /// all other hosts are refused. The addresses of a host have to be allowed all the same.
    ///
    /// # Errors
    ///
    /// When the text is no host's name.
    pub fn allow_host(mut self, text: &str) -> Result<Self, AddressRuleError> {
        let refused = || AddressRuleError::Host {
            text: text.to_owned(),
        };
        let (name, is_below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let host = match Host::parse(name).map_err(|_| refused())? {
            Host::Domain(name) if name.contains('*') => return Err(refused()),
            Host::Domain(name) => name.trim_end_matches('.').to_owned(),
            address if is_below => {
                return Err(AddressRuleError::Host {
                    text: address.to_string(),
                });
            }
            address => address.to_string(),
        };
        self.hosts.push(if is_below {
            HostPattern::Below(format!(".{host}"))
        } else {
            HostPattern::Exact(host)
        });
        Ok(self)
    }

    /// Checks all of a URL that can be checked without resolving its host.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), GuardProblem> {
        let host = url.host().ok_or(GuardProblem::Host)?;
        self.check_host(&host.to_string())?;
        match host {
            Host::Domain(_) => Ok(()),
            Host::Ipv4(address) => self.check_addresses([address.into()]),
            Host::Ipv6(address) => self.check_addresses([address.into()]),
        }
    }

    /// Checks a name against the list of hosts; its addresses come later.
    pub(crate) fn check_host(&self, host: &str) -> Result<(), GuardProblem> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_allowed = self.hosts.is_empty()
            || self.hosts.iter().any(|pattern| match pattern {
                HostPattern::Exact(name) => *name == host,
                HostPattern::Below(suffix) => host.ends_with(suffix),
            });
        is_allowed.then_some(()).ok_or(GuardProblem::Host)
    }

    /// Checks all that a name resolved to. One that is refused refuses the name, so that nobody can mix a public address
    /// with one of ours.
    pub(crate) fn check_addresses(
        &self,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<(), GuardProblem> {
        let mut addresses = addresses.into_iter();
        addresses
            .all(|address| self.allows(address))
            .then_some(())
            .ok_or(GuardProblem::Address)
    }

    fn allows(&self, address: IpAddr) -> bool {
        let reached = reached(address);
        is_public(reached)
            || self
                .networks
                .iter()
                .any(|network| network.contains(&address) || network.contains(&reached))
    }
}

/// The address that packets end up at: a few IPv6 addresses only carry an IPv4 one.
fn reached(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.into(),
            None if NAT64.contains(&v6) => {
                let [.., a, b, c, d] = v6.octets();
                Ipv4Addr::new(a, b, c, d).into()
            }
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|network| network.contains(&v4)),
        IpAddr::V6(v6) => GLOBAL_V6.contains(&v6) && !SPECIAL_V6.iter().any(|network| network.contains(&v6)),
    }
}

/// RFC 6052: what DNS64 makes of an IPv4 address. The local-use form of RFC 8215 is not public.
const NAT64: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// What IANA has given out for use on the Internet. Outside of it lie loopback, link-local, unique-local, multicast, the
/// unspecified address and the IPv4-compatible ones.
const GLOBAL_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What is not for use on the Internet, from the IANA registry of special-purpose IPv4 addresses and RFC 5771.
const SPECIAL_V4: [Ipv4Net; 15] = {
    const fn net(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
        Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
    }
    [
        net(0, 0, 0, 8),       // this network, the unspecified address
        net(10, 0, 0, 8),      // private
        net(100, 64, 0, 10),   // behind a carrier's NAT
        net(127, 0, 0, 8),     // loopback
        net(169, 254, 0, 16),  // link-local, with the clouds' metadata
        net(172, 16, 0, 12),   // private
        net(192, 0, 0, 24),    // protocol assignments
        net(192, 0, 2, 24),    // documentation
        net(192, 88, 99, 24),  // 6to4 relays
        net(192, 168, 0, 16),  // private
        net(198, 18, 0, 15),   // benchmarking
        net(198, 51, 100, 24), // documentation
        net(203, 0, 113, 24),  // documentation
        net(224, 0, 0, 4),     // multicast
        net(240, 0, 0, 4),     // reserved, broadcast
    ]
};

/// The same inside [`GLOBAL_V6`], from the IANA registry of special-purpose IPv6 addresses.
const SPECIAL_V6: [Ipv6Net; 4] = {
    const fn net(a: u16, b: u16, prefix: u8) -> Ipv6Net {
        Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
    }
    [
        net(0x2001, 0, 23),     // protocol assignments: Teredo, benchmarking, ORCHID
        net(0x2001, 0xdb8, 32), // documentation
        net(0x2002, 0, 16),     // 6to4, which carries an IPv4 address
        net(0x3fff, 0, 20),     // documentation
    ]
};
