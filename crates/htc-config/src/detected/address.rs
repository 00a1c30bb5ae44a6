//! The addresses by which other machines know the host (`my_hostname.cpp`, `network_interface_to_sockaddr`).

use core::net::{IpAddr, Ipv6Addr};

use bstr::{BString, ByteSlice};

use super::system_file::read_or_empty;
use htc_base::text::list;
use htc_base::world::{InterfaceAddress, World};

/// Returns the reference's rank of an address: public addresses are best, then private ones; loopback and
/// link-local addresses are worst.
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

/// Minimum rank of an address that other machines can reach.
const MIN_REACHABLE_DESIRABILITY: u8 = 4;

/// Returns the best address in the kernel's table of IPv6 addresses (`/proc/net/if_inet6`), whose lines contain 32
/// hexadecimal digits and the number of the interface, also hexadecimal. Of several best addresses, the one of the
/// interface with the lowest number is returned.
fn best_ipv6(table: &[u8]) -> Option<IpAddr> {
    let mut addresses: Vec<(u32, IpAddr)> = table
        .lines()
        .filter_map(|line| {
            let mut fields = line.to_str().ok()?.split_ascii_whitespace();
            let address = u128::from_str_radix(fields.next()?, 16).ok()?;
            let interface = u32::from_str_radix(fields.next()?, 16).ok()?;
            Some((interface, IpAddr::V6(Ipv6Addr::from_bits(address))))
        })
        .collect();
    addresses.sort_by_key(|(interface, address)| (std::cmp::Reverse(desirability(address)), *interface));
    addresses.first().map(|(_, address)| *address)
}

/// Value of NETWORK_INTERFACE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NetworkInterface {
    /// All interfaces.
    #[default]
    Any,
    /// Interfaces whose names or addresses match one of the patterns.
    Patterns(BString),
    /// An address; the host need not have it.
    Address(IpAddr),
}

/// The settings that determine the host's addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressSettings {
    /// Value of NETWORK_INTERFACE.
    pub(crate) interface: NetworkInterface,
    /// ENABLE_IPV4 and ENABLE_IPV6, if they are booleans.
    pub(crate) enabled_families: [Option<bool>; 2],
}

/// The chosen addresses of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostAddresses {
    /// The IPv4 and the IPv6 address.
    pub(crate) families: [Option<IpAddr>; 2],
    /// The address with the highest rank.
    pub(crate) best: Option<IpAddr>,
}

impl HostAddresses {
    /// Chooses the addresses again after a change of the settings (`ipv6_hostname.cpp`, `init_local_hostname_impl`). If
    /// NETWORK_INTERFACE is an address, the address of the other family is unchanged.
    pub(super) fn choose(&mut self, settings: &AddressSettings, world: &dyn World) {
        match &settings.interface {
            NetworkInterface::Address(address) => {
                self.families[usize::from(address.is_ipv6())] = Some(*address);
                self.best = Some(*address);
            }
            _ => *self = HostAddresses::from_settings(settings, world),
        }
    }

    /// Returns the addresses that the settings alone determine.
    pub(crate) fn from_settings(settings: &AddressSettings, world: &dyn World) -> Self {
        let wanted = settings.enabled_families;
        match &settings.interface {
            NetworkInterface::Any => {
                let host_address = world.ip_address();
                HostAddresses::from_candidates(
                    best_of_each_family(&host_address, &read_or_empty(world, IPV6_TABLE_PATH), wanted),
                    wanted,
                )
            }
            NetworkInterface::Address(address) => {
                let mut chosen = HostAddresses { best: Some(*address), ..HostAddresses::default() };
                chosen.families[usize::from(address.is_ipv6())] = Some(*address);
                chosen
            }
            NetworkInterface::Patterns(patterns) => {
                HostAddresses::from_candidates(best_matching(patterns, &world.interfaces(), wanted), wanted)
            }
        }
    }

    /// Chooses from one address of each family. If others can reach only one family, the other is omitted
    /// unless it is enabled explicitly.
    fn from_candidates(candidates: [Option<IpAddr>; 2], wanted: [Option<bool>; 2]) -> Self {
        let mut families = candidates;
        if let Some(reachable) = reachable_families(candidates) {
            for family in 0..2 {
                if !reachable[family] && reachable[1 - family] && wanted[family].is_none() {
                    families[family] = None;
                }
            }
        }
        // If several addresses have the same rank, the first of them is chosen.
        let best = families.into_iter().flatten().rev().max_by_key(desirability);
        HostAddresses { families, best }
    }
}

/// The kernel's table of IPv6 addresses.
const IPV6_TABLE_PATH: &str = "/proc/net/if_inet6";

/// Returns the best matching address of each family that is not disabled.
fn best_matching(
    patterns: &[u8],
    interfaces: &[InterfaceAddress],
    wanted: [Option<bool>; 2],
) -> [Option<IpAddr>; 2] {
    let matches = |one: &&InterfaceAddress| {
        let address = one.address.to_string();
        let is_wanted = wanted[usize::from(one.address.is_ipv6())] != Some(false);
        let mut patterns = list::split_by(patterns, b",").map(<[u8]>::trim_ascii);
        is_wanted
            && patterns.any(|pattern| {
                list::matches_wildcard_caseless(pattern, one.name.as_bytes())
                    || list::matches_wildcard_caseless(pattern, address.as_bytes())
            })
    };
    [false, true].map(|is_v6| {
        let rank = |one: &&InterfaceAddress| desirability(&one.address) * if one.is_up { 10 } else { 1 };
        let family = interfaces.iter().filter(|one| one.address.is_ipv6() == is_v6).filter(matches);
        family.rev().max_by_key(rank).map(|one| one.address)
    })
}

/// Returns true if the settings select addresses of both families and others can reach only one of them.
pub(crate) fn has_unreachable_family(settings: &AddressSettings, world: &dyn World) -> bool {
    let addresses = match &settings.interface {
        NetworkInterface::Any => {
            let host_address = world.ip_address();
            best_of_each_family(
                &host_address,
                &read_or_empty(world, IPV6_TABLE_PATH),
                settings.enabled_families,
            )
        }
        NetworkInterface::Patterns(patterns) => {
            best_matching(patterns, &world.interfaces(), settings.enabled_families)
        }
        NetworkInterface::Address(_) => [None; 2],
    };
    reachable_families(addresses).is_some_and(|[v4, v6]| v4 != v6)
}

/// Returns the best address of each family that is not disabled.
fn best_of_each_family(host_address: &str, table: &[u8], wanted: [Option<bool>; 2]) -> [Option<IpAddr>; 2] {
    let address: Option<IpAddr> = host_address.parse().ok();
    let mut addresses =
        [address.filter(IpAddr::is_ipv4), best_ipv6(table).or(address.filter(IpAddr::is_ipv6))];
    for (address, wanted) in addresses.iter_mut().zip(wanted) {
        if wanted == Some(false) {
            *address = None;
        }
    }
    addresses
}

/// Returns a flag for each family, true if other machines can reach its address; `None` unless both families have one.
fn reachable_families(addresses: [Option<IpAddr>; 2]) -> Option<[bool; 2]> {
    match addresses {
        [Some(v4), Some(v6)] => {
            Some([v4, v6].map(|address| desirability(&address) >= MIN_REACHABLE_DESIRABILITY))
        }
        _ => None,
    }
}

/// Returns the host's name without a name service: its best address with `-` in place of dots and colons,
/// followed by the domain; empty if there is no domain (`ipv6_hostname.cpp`,
/// `convert_ipaddr_to_fake_hostname`).
pub(super) fn hostname_from_address(best: Option<IpAddr>, domain: &[u8]) -> BString {
    let Some(best) = best.filter(|_| !domain.is_empty()) else {
        return BString::default();
    };
    let mut name = best.to_string().replace(['.', ':'], "-");
    if name.starts_with('-') {
        name.insert(0, '0');
    }
    name.push('.');
    let mut name = BString::from(name);
    name.extend_from_slice(domain);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
        00000000000000000000000000000001 01 80 10 80       lo\n\
        fd000000000000000000000000000002 04 40 00 82     eth0\n";

    fn chosen(host_address: &str, table: &[u8], wanted: [Option<bool>; 2]) -> HostAddresses {
        HostAddresses::from_candidates(best_of_each_family(host_address, table, wanted), wanted)
    }

    fn texts(host_address: &str, table: &[u8], wanted: [Option<bool>; 2]) -> Vec<String> {
        let families = chosen(host_address, table, wanted).families;
        families.iter().flatten().map(ToString::to_string).collect()
    }

    #[test]
    fn addresses_of_both_families_are_found() {
        assert_eq!(texts("192.0.2.2", TABLE, [None; 2]), ["192.0.2.2", "fd00::2"]);
        let public = b"20010db8000000000000000000000007 05 40 00 80 eth1\n";
        assert_eq!(texts("192.0.2.2", &[TABLE, public].concat(), [None; 2]), ["192.0.2.2", "2001:db8::7"]);
    }

    #[test]
    fn an_unreachable_address_is_skipped_unless_it_is_requested() {
        let lonely = b"00000000000000000000000000000001 01 80 10 80 lo\n";
        assert_eq!(texts("192.0.2.2", lonely, [None; 2]), ["192.0.2.2"]);
        assert_eq!(texts("192.0.2.2", lonely, [None, Some(true)]), ["192.0.2.2", "::1"]);
        assert_eq!(texts("127.0.0.1", lonely, [None; 2]), ["127.0.0.1", "::1"]);
        assert_eq!(texts("127.0.0.1", TABLE, [None; 2]), ["fd00::2"]);
        assert_eq!(texts("192.0.2.2", TABLE, [Some(false), None]), ["fd00::2"]);
        assert_eq!(texts("192.0.2.2", TABLE, [None, Some(false)]), ["192.0.2.2"]);
        assert_eq!(texts("192.0.2.2", b"", [None; 2]), ["192.0.2.2"]);
    }

    #[test]
    fn without_a_name_service_the_best_address_is_the_name() {
        let name = |host_address: &str, table: &[u8]| {
            hostname_from_address(chosen(host_address, table, [None; 2]).best, b"x.y").to_string()
        };
        assert_eq!(name("192.0.2.2", TABLE), "192-0-2-2.x.y");
        assert_eq!(name("10.0.0.2", TABLE), "10-0-0-2.x.y");
        assert_eq!(
            name("10.0.0.2", b"20010db8000000000000000000000007 05 40 00 80 eth1\n"),
            "2001-db8--7.x.y"
        );
        assert_eq!(hostname_from_address("::1".parse().ok(), b"x.y"), "0--1.x.y");
        assert_eq!(hostname_from_address("::1".parse().ok(), b""), "");
    }

    #[test]
    fn patterns_select_addresses_of_interfaces() {
        let one = |name: &str, address: &str, is_up| InterfaceAddress {
            name: name.into(),
            address: address.parse().unwrap(),
            is_up,
        };
        let all = [
            one("lo", "127.0.0.1", true),
            one("eth0", "10.0.0.2", true),
            one("eth1", "198.51.100.7", false),
            one("eth2", "10.1.0.2", true),
            one("lo", "::1", true),
        ];
        let found = |patterns: &str| best_matching(patterns.as_bytes(), &all, [None; 2]);
        let v4 = |patterns: &str| found(patterns)[0].map(|address| address.to_string());
        assert_eq!(v4("*").as_deref(), Some("10.0.0.2"), "an interface that is down is not taken");
        assert_eq!(v4("ETH1").as_deref(), Some("198.51.100.7"));
        assert_eq!(v4("nothing, 10.1.*").as_deref(), Some("10.1.0.2"));
        assert_eq!(
            found("lo").map(|found| found.map(|address| address.to_string())),
            [Some("127.0.0.1".into()), Some("::1".into())]
        );
        assert_eq!(found("wlan*"), [None; 2]);
    }

    #[test]
    fn a_later_address_keeps_that_of_the_other_family() {
        let interface = |text: &str| AddressSettings {
            interface: NetworkInterface::Address(text.parse().unwrap()),
            ..AddressSettings::default()
        };
        let world = htc_os::RealWorld::new();
        let mut addresses = HostAddresses::default();
        addresses.choose(&interface("fd00::2"), &world);
        addresses.choose(&interface("127.0.0.1"), &world);
        assert_eq!(addresses.families.map(|one| one.unwrap().to_string()), ["127.0.0.1", "fd00::2"]);
    }
}
