//! The network adapter behind an address of this machine.

use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};

/// Hardware address and mask of the adapter that has this address, in the forms of ads (`LinuxNetworkAdapter`).
pub fn of_address(address: IpAddr) -> Option<(String, String)> {
    let all: Vec<InterfaceAddress> = getifaddrs().ok()?.collect();
    let is_it =
        |entry: &&InterfaceAddress| entry.address.as_ref().and_then(ip).is_some_and(|ip| ip == address);
    let found = all.iter().find(is_it)?;
    let mask = found.netmask.as_ref().and_then(ip)?.to_string();
    let named = all.iter().filter(|entry| entry.interface_name == found.interface_name);
    let hardware = named
        .filter_map(|entry| entry.address.as_ref()?.as_link_addr()?.addr())
        .map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"))
        .next()?;
    Some((hardware, mask))
}

fn ip(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
    four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_adapter_has_no_hardware_and_the_mask_of_its_network() {
        let Some((hardware, mask)) = of_address(IpAddr::from([127, 0, 0, 1])) else { return };
        assert_eq!((hardware.as_str(), mask.as_str()), ("00:00:00:00:00:00", "255.0.0.0"));
        assert_eq!(of_address(IpAddr::from([192, 0, 2, 77])), None);
    }
}
