//! Every class of address, from the registries and not from the tables of the code.

use super::super::address_rule::AddressRule;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn forbidden(address: &str) -> bool {
    AddressRule::GlobalUnicast.forbids(address.parse().unwrap()).is_some()
}

/// First and last address of every row of the IANA IPv4 Special-Purpose Address Registry, then multicast and the
/// addresses at which clouds keep the metadata of their machines.
const SPECIAL_IPV4: &[(&str, &str)] = &[
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.0.0", "192.0.0.7"),
    ("192.0.0.8", "192.0.0.8"),
    ("192.0.0.9", "192.0.0.10"),
    ("192.0.0.170", "192.0.0.171"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.31.196.0", "192.31.196.255"),
    ("192.52.193.0", "192.52.193.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("192.175.48.0", "192.175.48.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("240.0.0.0", "255.255.255.254"),
    ("255.255.255.255", "255.255.255.255"),
    ("224.0.0.0", "239.255.255.255"),
    ("169.254.169.254", "169.254.170.2"),
    ("100.100.100.200", "100.100.100.200"),
    ("168.63.129.16", "168.63.129.16"),
    ("192.0.0.192", "192.0.0.192"),
];

/// The same of the IANA IPv6 registry, then what was special before, multicast and metadata.
const SPECIAL_IPV6: &[(&str, &str)] = &[
    ("::1", "::1"),
    ("::", "::"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
    ("100::", "100::ffff:ffff:ffff:ffff"),
    ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:1::1", "2001:1::3"),
    ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"),
    ("2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff"),
    ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    // IPv4-compatible, also of public addresses.
    ("::0.0.0.2", "::255.255.255.255"),
    ("::8.8.8.8", "::8.8.8.8"),
    // Nothing of this is assigned.
    ("200::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fd00:ec2::254", "fd00:ec2::254"),
];

#[test]
fn every_special_ipv4_address_is_forbidden() {
    for (first, last) in SPECIAL_IPV4 {
        assert!(forbidden(first), "{first}");
        assert!(forbidden(last), "{last}");
    }
}

#[test]
fn every_special_ipv6_address_is_forbidden() {
    for (first, last) in SPECIAL_IPV6 {
        assert!(forbidden(first), "{first}");
        assert!(forbidden(last), "{last}");
    }
}

#[test]
fn the_addresses_beside_a_special_block_are_dialled() {
    for address in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.31.195.255",
        "192.52.194.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "192.175.49.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db9::",
        "2003::",
        "2606:4700::1111",
        "2620:4f:8001::",
        "3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff:1000::",
        // Public addresses, in the two forms that are unwrapped, and by ISATAP.
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2606:4700::5efe:8.8.8.8",
        "2606:4700::200:5efe:8.8.8.8",
    ] {
        assert!(!forbidden(address), "{address}");
    }
}

/// What is under each embedding, the Teredo client's address in the complement that RFC 4380 has it in.
fn embedded(address: Ipv4Addr) -> Vec<Ipv6Addr> {
    let bits = u128::from(address.to_bits());
    let at = |prefix: &str, shift: u32| {
        Ipv6Addr::from_bits(prefix.parse::<Ipv6Addr>().unwrap().to_bits() | bits << shift)
    };
    let obfuscated = u128::from(!address.to_bits());
    let teredo = "2001::".parse::<Ipv6Addr>().unwrap().to_bits();
    vec![
        at("::ffff:0:0", 0),
        at("::", 0),
        at("64:ff9b::", 0),
        at("64:ff9b:1::", 0),
        at("64:ff9b:1:7f00::", 0),
        at("2002::", 80),
        at("2002:808:808::", 0),
        // The server, with a public client, and the client, with a public server.
        Ipv6Addr::from_bits(teredo | bits << 64 | u128::from(!0x0808_0808u32)),
        Ipv6Addr::from_bits(teredo | 0x0808_0808 << 64 | obfuscated),
        at("fe80::5efe:0:0", 0),
        at("2606:4700::5efe:0:0", 0),
        at("2606:4700::200:5efe:0:0", 0),
    ]
}

#[test]
fn a_forbidden_address_in_another_is_forbidden() {
    for address in SPECIAL_IPV4.iter().flat_map(|(first, last)| [first, last]) {
        for address in embedded(address.parse().unwrap()) {
            assert!(AddressRule::GlobalUnicast.forbids(IpAddr::V6(address)).is_some(), "{address}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_forbidden_is_forbidden_in_every_embedding(row in 0..SPECIAL_IPV4.len(), place in 0.0..1.0f64) {
        let (first, last) = SPECIAL_IPV4[row];
        let bits = |text: &str| text.parse::<Ipv4Addr>().unwrap().to_bits();
        let size = f64::from(bits(last) - bits(first));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between zero and the size")]
        let address = Ipv4Addr::from_bits(bits(first) + (size * place) as u32);
        prop_assert!(AddressRule::GlobalUnicast.forbids(IpAddr::V4(address)).is_some(), "{address}");
        for embedding in embedded(address) {
            prop_assert!(AddressRule::GlobalUnicast.forbids(IpAddr::V6(embedding)).is_some(), "{embedding}");
        }
    }

    #[test]
    fn an_address_is_no_safer_mapped_than_bare(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let bare = AddressRule::GlobalUnicast.forbids(IpAddr::V4(address)).is_some();
        let mapped = AddressRule::GlobalUnicast.forbids(IpAddr::V6(address.to_ipv6_mapped())).is_some();
        prop_assert_eq!(bare, mapped);
    }

    #[test]
    fn an_ipv6_address_outside_of_global_unicast_is_forbidden(bits in any::<u128>()) {
        let address = Ipv6Addr::from_bits(bits);
        let global = bits >> 125 == 1;
        let unwrapped = bits >> 32 == 0xffff || bits >> 32 == 0x64_ff9b << 64;
        prop_assert!(global || unwrapped || AddressRule::GlobalUnicast.forbids(IpAddr::V6(address)).is_some());
    }
}

#[test]
fn the_lenient_rule_of_tests_lifts_loopback_and_nothing_else() {
    let lenient = |address: &str| AddressRule::LoopbackToo.forbids(address.parse().unwrap()).is_none();
    assert!(lenient("127.0.0.1"));
    for address in ["10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
        assert!(!lenient(address), "{address}");
    }
}
