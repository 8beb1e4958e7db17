use proptest::prelude::*;

use super::*;

fn allows(rules: &AddressRules, address: impl Into<IpAddr>) -> bool {
    rules.check_addresses([address.into()]).is_ok()
}

fn is_refused(address: impl Into<IpAddr>) -> bool {
    !allows(&AddressRules::default(), address)
}

/// An address of a network.
fn in_v4(network: Ipv4Net) -> impl Strategy<Value = Ipv4Addr> {
    let host_bits = u32::from(network.hostmask());
    any::<u32>().prop_map(move |bits| Ipv4Addr::from(u32::from(network.network()) | (bits & host_bits)))
}

fn in_v6(network: Ipv6Net) -> impl Strategy<Value = Ipv6Addr> {
    let host_bits = u128::from(network.hostmask());
    any::<u128>().prop_map(move |bits| Ipv6Addr::from(u128::from(network.network()) | (bits & host_bits)))
}

/// Written out again, and as ranges that people know, so that a slip in the table of the guard shows.
const NOT_PUBLIC_V4: [&str; 18] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "169.254.169.254/32",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "233.252.0.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
];

const NOT_PUBLIC_V6: [&str; 20] = [
    "::/128",
    "::1/128",
    "::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fd00:ec2::254/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "ffff:ffff::/32",
];

/// All the ways to write an IPv4 address as an IPv6 one.
fn carriers(v4: Ipv4Addr) -> [Ipv6Addr; 6] {
    let [a, b, c, d] = v4.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    [
        v4.to_ipv6_mapped(),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        // Teredo: the client's address, inverted.
        Ipv6Addr::new(0x2001, 0, 0x4136, 0xe378, 0x8000, 0x63bf, !high, !low),
    ]
}

proptest! {
    #[test]
    fn no_special_ipv4_address_is_reached(
        v4 in proptest::sample::select(&NOT_PUBLIC_V4[..]).prop_flat_map(|text| in_v4(text.parse().unwrap()))
    ) {
        prop_assert!(is_refused(v4), "{v4}");
        for v6 in carriers(v4) {
            prop_assert!(is_refused(v6), "{v6}");
        }
    }

    #[test]
    fn no_special_ipv6_address_is_reached(
        v6 in proptest::sample::select(&NOT_PUBLIC_V6[..]).prop_flat_map(|text| in_v6(text.parse().unwrap()))
    ) {
        prop_assert!(is_refused(v6), "{v6}");
    }

    #[test]
    fn all_other_addresses_are_reached(v4: u32, v6 in in_v6("2000::/3".parse().unwrap())) {
        let v4 = Ipv4Addr::from(v4);
        let is_special = |text: &&str| text.parse::<Ipv4Net>().unwrap().contains(&v4);
        prop_assert_eq!(is_refused(v4), NOT_PUBLIC_V4.iter().any(is_special), "{}", v4);
        // As clusters without IPv4 see it.
        prop_assert_eq!(is_refused(carriers(v4)[2]), is_refused(v4));
        if !["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]
            .iter()
            .any(|text| text.parse::<Ipv6Net>().unwrap().contains(&v6))
        {
            prop_assert!(!is_refused(v6), "{v6}");
        }
    }
}

#[test]
fn the_edges_of_ranges_are_refused() {
    for text in NOT_PUBLIC_V4 {
        let network: Ipv4Net = text.parse().unwrap();
        assert!(
            is_refused(network.network()) && is_refused(network.broadcast()),
            "{text}"
        );
    }
    for text in NOT_PUBLIC_V6 {
        let network: Ipv6Net = text.parse().unwrap();
        assert!(
            is_refused(network.network()) && is_refused(network.broadcast()),
            "{text}"
        );
    }
}

#[test]
fn what_the_internet_uses_is_reached() {
    for text in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450:4001:81b::200e",
    ] {
        assert!(!is_refused(text.parse::<IpAddr>().unwrap()), "{text}");
    }
}

#[test]
fn an_admin_allows_networks_in_all_their_forms() {
    let rules = AddressRules::default()
        .allow_network("10.1.0.0/16")
        .unwrap()
        .allow_network("127.0.0.1")
        .unwrap()
        .allow_network("fd00:1::/64")
        .unwrap();
    for text in ["10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1", "fd00:1::7", "8.8.8.8"] {
        assert!(allows(&rules, text.parse::<IpAddr>().unwrap()), "{text}");
    }
    for text in [
        "10.2.0.0",
        "127.0.0.2",
        "::1",
        "fd00:2::7",
        "::ffff:10.2.0.1",
        "2002:a01:203::",
    ] {
        assert!(!allows(&rules, text.parse::<IpAddr>().unwrap()), "{text}");
    }
}

#[test]
fn one_refused_address_refuses_the_name() {
    let rules = AddressRules::default();
    let addresses = ["8.8.8.8", "10.0.0.1"].map(|text| text.parse().unwrap());
    assert_eq!(rules.check_addresses(addresses), Err(GuardProblem::Address));
    assert_eq!(rules.check_addresses([addresses[0]]), Ok(()));
}

#[test]
fn addresses_in_urls_are_checked_however_they_are_written() {
    let rules = AddressRules::default();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "169.254.169.254",
        "0",
    ] {
        let url = Url::parse(&format!("http://{host}/x")).unwrap();
        assert_eq!(rules.check_url(&url), Err(GuardProblem::Address), "{host}");
    }
    for host in ["8.8.8.8", "[2606:4700::1]", "example.org", "localhost"] {
        // Names are checked once they are resolved.
        let url = Url::parse(&format!("https://{host}/x")).unwrap();
        assert_eq!(rules.check_url(&url), Ok(()), "{host}");
    }
}

#[test]
fn hosts_are_limited_to_a_list() {
    let rules = AddressRules::default()
        .allow_host("Data.example.org")
        .unwrap()
        .allow_host("*.hf.test")
        .unwrap()
        .allow_host("8.8.8.8")
        .unwrap();
    let is_allowed = |host: &str| {
        let url = Url::parse(&format!("https://{host}/x")).unwrap();
        rules.check_url(&url).is_ok()
    };
    for host in [
        "data.example.org",
        "DATA.example.org.",
        "a.hf.test",
        "a.b.hf.test",
        "8.8.8.8",
    ] {
        assert!(is_allowed(host), "{host}");
    }
    for host in [
        "example.org",
        "xdata.example.org",
        "data.example.org.evil.test",
        "hf.test",
        "xhf.test",
        "8.8.4.4",
    ] {
        assert!(!is_allowed(host), "{host}");
    }
}

#[test]
fn rules_that_are_none_are_refused() {
    for text in ["", "10.0.0.0/33", "10.0.0", "example.org", "10.0.0.0/8/8"] {
        let error = AddressRules::default().allow_network(text).unwrap_err();
        assert!(error.to_string().contains("as a network"), "{error}");
    }
    for text in [
        "",
        "*",
        "*.",
        "a b",
        "https://example.org",
        "*.*.org",
        "*.10.0.0.1",
        "a/b",
    ] {
        let error = AddressRules::default().allow_host(text).unwrap_err();
        assert!(error.to_string().contains("as a host"), "{error}");
    }
}
