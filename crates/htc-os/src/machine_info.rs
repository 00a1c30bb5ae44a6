//! Properties of the machine: names, address, processors, memory, operating system.

use std::fs;

use bstr::ByteSlice;
use rustc_hash::FxHashSet;

use htc_base::world::{InterfaceAddress, MachineFacts};

/// Measures the properties of the machine.
pub(super) fn measure_machine() -> MachineFacts {
    let uname = nix::sys::utsname::uname().ok();
    let part = |value: Option<&std::ffi::OsStr>| {
        value.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    };
    let [host, full_host, ip_address] = host_names();
    let cpus = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    let memory = read_meminfo_bytes("MemTotal:");
    let swap = read_meminfo_bytes("SwapTotal:");
    MachineFacts {
        host,
        full_host,
        ip_address,
        uname: [
            part(uname.as_ref().map(|uname| uname.sysname())),
            part(uname.as_ref().map(|uname| uname.machine())),
            part(uname.as_ref().map(|uname| uname.release())),
        ],
        cpus,
        cores: physical_core_count().unwrap_or(cpus).clamp(1, cpus.max(1)),
        memory,
        swap,
        os_release: parse_os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
    }
}

/// Returns the addresses of all network interfaces.
pub(super) fn list_interfaces() -> Vec<InterfaceAddress> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    let known = all.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|v4| core::net::IpAddr::from(v4.ip()));
        let address = v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))?;
        let is_up = one.flags.contains(nix::net::if_::InterfaceFlags::IFF_UP);
        Some(InterfaceAddress { name: one.interface_name, address, is_up })
    });
    known.collect()
}

/// Returns the host name, the full host name and the default address.
pub(super) fn host_names() -> [String; 3] {
    let node = nix::sys::utsname::uname()
        .map_or_else(|_| String::new(), |uname| uname.nodename().to_string_lossy().into_owned());
    let host = node.split('.').next().unwrap_or("localhost").to_owned();
    let full_host =
        if node.contains('.') { node } else { full_host_name(&host).unwrap_or_else(|| host.clone()) };
    [host, full_host, default_ip_address()]
}

/// Returns the full name of the host from the hosts file (the first canonical name), as a resolver without a
/// network would.
fn full_host_name(host: &str) -> Option<String> {
    let hosts = fs::read_to_string("/etc/hosts").ok()?;
    hosts.lines().find_map(|line| {
        let names: Vec<&str> = line.split('#').next()?.split_ascii_whitespace().skip(1).collect();
        let ours = names.contains(&host);
        names.into_iter().find(|name| ours && name.contains('.')).map(str::to_owned)
    })
}

/// Returns the address of the interface through which packets to other networks are sent, or the address of
/// the loopback interface. No packet is sent to find out.
fn default_ip_address() -> String {
    let ask = || {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    };
    ask().map_or_else(|_| "127.0.0.1".to_owned(), |address| address.ip().to_string())
}

/// Returns the value in the line `name` of `/proc/meminfo`, in bytes.
fn read_meminfo_bytes(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// Returns the number of physical cores (distinct pairs of package and core), or `None` if it is unknown.
fn physical_core_count() -> Option<u32> {
    let text = fs::read("/proc/cpuinfo").ok()?;
    let mut seen = FxHashSet::default();
    let mut package = Vec::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once_str(":") else { continue };
        match name.trim() {
            b"physical id" => package = value.trim().to_vec(),
            b"core id" => drop(seen.insert((package.clone(), value.trim().to_vec()))),
            _ => {}
        }
    }
    u32::try_from(seen.len()).ok().filter(|&count| count > 0)
}

fn parse_os_release(text: &str) -> [String; 3] {
    ["ID", "VERSION_ID", "PRETTY_NAME"].map(|wanted| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == wanted)
            .map_or_else(String::new, |(_, value)| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_os_release_are_removed() {
        let text = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n";
        assert_eq!(parse_os_release(text), ["debian", "", "Debian GNU/Linux 12"]);
    }

    #[test]
    fn this_machine_has_a_name_a_processor_and_memory() {
        let machine = measure_machine();
        assert!(!machine.host.is_empty() && !machine.full_host.is_empty());
        assert!(machine.cpus >= 1 && machine.cores >= 1 && machine.memory > 0);
    }
}
