//! Which addresses are dialled: global unicast, and nothing that only looks like it.
//!
//! The tables are what the IANA special-purpose registries hold for IPv4 and IPv6 (RFC 6890), read the narrow way: a
//! block that is special is not dialled, also where the registry calls it globally reachable, since no document lives
//! there. An IPv6 address that holds an IPv4 one is judged by that one where the holding is certain (IPv4-mapped, the
//! well-known NAT64 prefix, ISATAP), and is not dialled where it is not (6to4, Teredo, IPv4-compatible, local NAT64):
//! those tunnels are retired, and what stands at their other end no check of ours can see. What cannot be known from an
//! address is a translator at a prefix of the operator's own network; it has to refuse private addresses itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not dialled.
const FORBIDDEN_IPV4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by carriers"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // A public address, but the same one inside of every Azure machine: its host's metadata.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "metadata"),
    // 169.254.169.254, the metadata of most clouds, among them.
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "AMT"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    // Broadcast among them.
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The one IPv6 block of which addresses are dialled.
const GLOBAL_IPV6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks of it that are not.
const FORBIDDEN_IPV6: &[(Ipv6Addr, u32, &str)] = &[
    // Teredo (2001::/32), benchmarking, ORCHID and more.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "retired test network"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// Blocks whose last 32 bits are the IPv4 address that is reached.
const MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Which addresses a fetcher dials.
///
/// There is one rule outside of tests. The variant that lets a test dial its own server exists only where `cfg(test)`
/// holds, which is when cargo builds this crate's own unit tests: in the library, in the binary and in whatever links
/// them the enum has one value, and naming the other does not compile. So no configuration, feature or caller can bring
/// it about, and there is no flag that could be left on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressRule {
    /// Global unicast addresses.
    GlobalUnicast,
    /// Those, and 127.0.0.0/8, at which tests have their servers.
    #[cfg(test)]
    LoopbackToo,
}

impl AddressRule {
    /// Why an address is not dialled; `None` if it is.
    pub(super) fn forbids(self, address: IpAddr) -> Option<&'static str> {
        match self {
            Self::GlobalUnicast => forbidden(address),
            #[cfg(test)]
            Self::LoopbackToo => match address {
                IpAddr::V4(address) if address.is_loopback() => None,
                address => forbidden(address),
            },
        }
    }
}

fn forbidden(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_ipv4(address),
        IpAddr::V6(address) => forbidden_ipv6(address),
    }
}

fn forbidden_ipv4(address: Ipv4Addr) -> Option<&'static str> {
    FORBIDDEN_IPV4.iter().find(|(block, bits, _)| in_ipv4(address, *block, *bits)).map(|(_, _, why)| *why)
}

fn forbidden_ipv6(address: Ipv6Addr) -> Option<&'static str> {
    if in_ipv6(address, MAPPED) || in_ipv6(address, NAT64) {
        return forbidden_ipv4(last_ipv4(address));
    }
    if !in_ipv6(address, GLOBAL_IPV6) {
        return Some("outside of global unicast");
    }
    let special = FORBIDDEN_IPV6.iter().find(|(block, bits, _)| in_ipv6(address, (*block, *bits)));
    if let Some((_, _, why)) = special {
        return Some(why);
    }
    // ISATAP (RFC 5214 6.1): the interface is an IPv4 address in the site, under any prefix.
    let [_, _, _, _, universal, isatap, _, _] = address.segments();
    if isatap == 0x5efe && universal & !0x0200 == 0 { forbidden_ipv4(last_ipv4(address)) } else { None }
}

fn last_ipv4(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Whether the first `bits` (at least one) are the block's.
fn in_ipv4(address: Ipv4Addr, block: Ipv4Addr, bits: u32) -> bool {
    (address.to_bits() ^ block.to_bits()).leading_zeros() >= bits
}

fn in_ipv6(address: Ipv6Addr, (block, bits): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ block.to_bits()).leading_zeros() >= bits
}
