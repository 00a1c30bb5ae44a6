//! Search for a network adapter of this machine by its address.

use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};

use super::wake_on_lan;
use htc_base::world::NetworkAdapter;

/// Returns the network adapter with this address, or `None` if no adapter has it.
pub fn find_by_address(address: IpAddr) -> Option<NetworkAdapter> {
    let all: Vec<InterfaceAddress> = getifaddrs().ok()?.collect();
    let has_address = |entry: &&InterfaceAddress| {
        entry.address.as_ref().and_then(to_ip_address).is_some_and(|ip| ip == address)
    };
    let found = all.iter().find(has_address)?;
    let mask = found.netmask.as_ref().and_then(to_ip_address)?.to_string();
    let named = all.iter().filter(|entry| entry.interface_name == found.interface_name);
    let hardware = named
        .filter_map(|entry| entry.address.as_ref()?.as_link_addr()?.addr())
        .map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"))
        .next()?;
    let (supported_wake_flags, enabled_wake_flags) =
        wake_on_lan::wake_flags_of_adapter(&found.interface_name);
    Some(NetworkAdapter {
        hardware_address: hardware,
        subnet_mask: mask,
        supported_wake_flags,
        enabled_wake_flags,
    })
}

fn to_ip_address(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_adapter_has_no_hardware_and_the_mask_of_its_network() {
        let Some(loopback) = find_by_address(IpAddr::from([127, 0, 0, 1])) else { return };
        let (hardware, mask) = ("00:00:00:00:00:00".to_owned(), "255.0.0.0".to_owned());
        assert_eq!(
            loopback,
            NetworkAdapter {
                hardware_address: hardware,
                subnet_mask: mask,
                supported_wake_flags: 0,
                enabled_wake_flags: 0
            }
        );
        assert_eq!(find_by_address(IpAddr::from([192, 0, 2, 77])), None);
    }
}
