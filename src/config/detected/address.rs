//! Which addresses of the host are its own to the outside (`my_hostname.cpp`, `network_interface_to_sockaddr`).

use core::net::{IpAddr, Ipv6Addr};

use bstr::ByteSlice;

/// How much the reference wants an address: public ones most, then private ones, loopback and link-local ones least.
fn desirability(address: &IpAddr) -> u8 {
    let (is_link_local, is_private) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.is_private()),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.is_unique_local()),
    };
    match () {
        () if address.is_ipv6() && is_link_local => 1,
        () if address.is_loopback() => 2,
        () if is_link_local => 3,
        () if is_private => 4,
        () => 5,
    }
}

/// The least desirability of an address that others can reach.
const REACHABLE: u8 = 4;

/// The best address of the kernel's table of IPv6 addresses (`/proc/net/if_inet6`): 32 hexadecimal digits and the
/// number of the interface, also hexadecimal. Interfaces with lower numbers go first.
fn best_v6(table: &[u8]) -> Option<IpAddr> {
    let mut found: Vec<(u32, IpAddr)> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.to_str().ok()?.split_ascii_whitespace();
            let address = u128::from_str_radix(fields.next()?, 16).ok()?;
            let interface = u32::from_str_radix(fields.next()?, 16).ok()?;
            Some((interface, IpAddr::V6(Ipv6Addr::from_bits(address))))
        })
        .collect();
    found.sort_by_key(|(interface, address)| (std::cmp::Reverse(desirability(address)), *interface));
    found.first().map(|(_, address)| *address)
}

/// The addresses of the host, at most one of each family, IPv4 first. `ours` is the address that packets leave by,
/// `table` the kernel's table of IPv6 addresses, `wanted` what ENABLE_IPV4 and ENABLE_IPV6 say. Where only one family can
/// be reached by others, the other is left out unless it is asked for.
pub(super) fn choose(ours: &str, table: &[u8], wanted: [Option<bool>; 2]) -> Vec<IpAddr> {
    let own: Option<IpAddr> = ours.parse().ok();
    let mut found = [own.filter(IpAddr::is_ipv4), best_v6(table).or(own.filter(IpAddr::is_ipv6))];
    for (address, wanted) in found.iter_mut().zip(wanted) {
        if wanted == Some(false) {
            *address = None;
        }
    }
    if let [Some(v4), Some(v6)] = found {
        let reachable = [v4, v6].map(|address| desirability(&address) >= REACHABLE);
        for family in 0..2 {
            if !reachable[family] && reachable[1 - family] && wanted[family].is_none() {
                found[family] = None;
            }
        }
    }
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
        00000000000000000000000000000001 01 80 10 80       lo\n\
        fd000000000000000000000000000002 04 40 00 82     eth0\n";

    fn texts(ours: &str, table: &[u8], wanted: [Option<bool>; 2]) -> Vec<String> {
        choose(ours, table, wanted).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_families_are_found_where_both_can_be_reached() {
        assert_eq!(texts("192.0.2.2", TABLE, [None; 2]), ["192.0.2.2", "fd00::2"]);
        let public = b"20010db8000000000000000000000007 05 40 00 80 eth1\n";
        assert_eq!(texts("192.0.2.2", &[TABLE, public].concat(), [None; 2]), ["192.0.2.2", "2001:db8::7"]);
    }

    #[test]
    fn an_address_that_nobody_reaches_is_left_out_unless_it_is_asked_for() {
        let lonely = b"00000000000000000000000000000001 01 80 10 80 lo\n";
        assert_eq!(texts("192.0.2.2", lonely, [None; 2]), ["192.0.2.2"]);
        assert_eq!(texts("192.0.2.2", lonely, [None, Some(true)]), ["192.0.2.2", "::1"]);
        assert_eq!(texts("127.0.0.1", lonely, [None; 2]), ["127.0.0.1", "::1"]);
        assert_eq!(texts("127.0.0.1", TABLE, [None; 2]), ["fd00::2"]);
        assert_eq!(texts("192.0.2.2", TABLE, [Some(false), None]), ["fd00::2"]);
        assert_eq!(texts("192.0.2.2", TABLE, [None, Some(false)]), ["192.0.2.2"]);
        assert_eq!(texts("192.0.2.2", b"", [None; 2]), ["192.0.2.2"]);
    }
}
