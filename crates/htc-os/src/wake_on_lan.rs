//! Wake-on-LAN flags of a network adapter. The kernel returns the flags by the ioctl ETHTOOL_GWOL, for which there
//! is no safe wrapper (`LinuxNetworkAdapter::detectWOL`).

#![allow(unsafe_code)]

use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Kernel structure `ethtool_wolinfo` (linux/ethtool.h).
#[repr(C)]
#[derive(Default)]
struct WakeInfo {
    command: u32,
    supported: u32,
    enabled: u32,
    password: [u8; 6],
}

/// Number of the command ETHTOOL_GWOL.
const ETHTOOL_GWOL: u32 = 5;

/// Returns the `WAKE_*` bits that an adapter supports, and the bits that are enabled. Both values are 0 if the
/// flags cannot be read.
pub(super) fn wake_flags_of_adapter(name: &str) -> (u32, u32) {
    let mut info = WakeInfo { command: ETHTOOL_GWOL, ..WakeInfo::default() };
    let Ok(socket) = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None) else {
        return (0, 0);
    };
    let mut letters = [0; libc::IFNAMSIZ];
    // The name must leave the last byte NUL.
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
    // SAFETY: the request contains the address of a buffer of the size that the kernel writes for ETHTOOL_GWOL;
    // request and buffer outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { (0, 0) } else { (info.supported, info.enabled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_and_missing_adapters_support_no_wake() {
        for name in ["lo", "no-such-adapter", "a-name-that-is-longer-than-any"] {
            assert_eq!(wake_flags_of_adapter(name), (0, 0), "{name}");
        }
    }
}
