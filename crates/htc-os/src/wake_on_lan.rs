//! Wake-on-LAN flags of an adapter: the kernel's reply to ETHTOOL_GWOL, for which there is no safe wrapper
//! (`LinuxNetworkAdapter::detectWOL`).

#![allow(unsafe_code)]

use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `struct ethtool_wolinfo` (linux/ethtool.h).
#[repr(C)]
#[derive(Default)]
struct WakeInfo {
    command: u32,
    supported: u32,
    enabled: u32,
    password: [u8; 6],
}

/// Command number of ETHTOOL_GWOL.
const ETHTOOL_GWOL: u32 = 5;

/// Returns the `WAKE_*` bits that an adapter supports and those that are enabled; both are 0 if they cannot
/// be read.
pub(super) fn wake_flags_of_adapter(name: &str) -> (u32, u32) {
    let mut info = WakeInfo { command: ETHTOOL_GWOL, ..WakeInfo::default() };
    let Ok(socket) = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None) else {
        return (0, 0);
    };
    let mut letters = [0; libc::IFNAMSIZ];
    // The last byte remains NUL.
    if name.len() >= letters.len() {
        return (0, 0);
    }
    for (letter, byte) in letters.iter_mut().zip(name.bytes()) {
        *letter = byte as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: letters,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut info).cast() },
    };
    // SAFETY: the request names a buffer as large as the kernel writes for this command, and both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { (0, 0) } else { (info.supported, info.enabled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_adapter_wakes_nobody_and_one_that_is_not_there_neither() {
        for name in ["lo", "no-such-adapter", "a-name-that-is-longer-than-any"] {
            assert_eq!(wake_flags_of_adapter(name), (0, 0), "{name}");
        }
    }
}
