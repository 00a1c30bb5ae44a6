//! Properties of the machine and the process that appear in the table as if a file had set them
//! (`fill_attributes`, `reinsert_specials`, condor_config.cpp).
//!
//! Detecting them takes longer than reading a configuration, so each group is detected when one of its names
//! is first looked up. If the reference lets them override the files, the loader removes the files'
//! definitions from the table; if files may override them, the table takes precedence.

use core::net::IpAddr;
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};

use htc_base::text::caseless;
use htc_base::text::number::integer_prefix;
use htc_base::text::space::trim;
use htc_base::world::World;

mod address;
mod system_file;

use self::system_file::read_or_empty;
pub(crate) use address::{AddressSettings, HostAddresses, NetworkInterface, has_unreachable_family};

/// Group of names whose values are detected together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DetectedGroup {
    /// Names that the kernel reports, such as those of the system and the architecture.
    Kernel,
    /// Name and version of the distribution.
    Distribution,
    /// Size of the memory.
    Memory,
    /// Numbers of processors.
    Processors,
    /// The home directory of the account `condor`.
    CondorHome,
    /// Names of the host.
    Host,
    /// The process and its user.
    Process,
    /// Network addresses of the host.
    Address,
}

const GROUP_COUNT: usize = 8;

/// All detected names with their groups, sorted by name, ignoring case.
const DETECTED_NAMES: [(&str, DetectedGroup); 34] = [
    ("ARCH", DetectedGroup::Kernel),
    ("CondorIsAdmin", DetectedGroup::Process),
    ("DETECTED_CORES", DetectedGroup::Processors),
    ("DETECTED_CPUS", DetectedGroup::Processors),
    ("DETECTED_CPUS_LIMIT", DetectedGroup::Processors),
    ("DETECTED_MEMORY", DetectedGroup::Memory),
    ("DETECTED_PHYSICAL_CPUS", DetectedGroup::Processors),
    ("FULL_HOSTNAME", DetectedGroup::Host),
    ("HOSTNAME", DetectedGroup::Host),
    ("IP_ADDRESS", DetectedGroup::Address),
    ("IP_ADDRESS_IS_IPV6", DetectedGroup::Address),
    ("IPV4_ADDRESS", DetectedGroup::Address),
    ("IPV6_ADDRESS", DetectedGroup::Address),
    ("OPSYS", DetectedGroup::Kernel),
    ("OPSYSANDVER", DetectedGroup::Distribution),
    ("OPSYSLEGACY", DetectedGroup::Kernel),
    ("OPSYSLONGNAME", DetectedGroup::Distribution),
    ("OPSYSMAJORVER", DetectedGroup::Distribution),
    ("OPSYSNAME", DetectedGroup::Distribution),
    ("OPSYSSHORTNAME", DetectedGroup::Distribution),
    ("OPSYSVER", DetectedGroup::Distribution),
    ("PID", DetectedGroup::Process),
    ("PPID", DetectedGroup::Process),
    ("REAL_GID", DetectedGroup::Process),
    ("REAL_UID", DetectedGroup::Process),
    ("TILDE", DetectedGroup::CondorHome),
    ("UNAME_ARCH", DetectedGroup::Kernel),
    ("UNAME_OPSYS", DetectedGroup::Kernel),
    ("USERNAME", DetectedGroup::Process),
    ("UTSNAME_MACHINE", DetectedGroup::Kernel),
    ("UTSNAME_NODENAME", DetectedGroup::Kernel),
    ("UTSNAME_RELEASE", DetectedGroup::Kernel),
    ("UTSNAME_SYSNAME", DetectedGroup::Kernel),
    ("UTSNAME_VERSION", DetectedGroup::Kernel),
];

/// Returns true if a name is detected.
pub fn is_detected(name: &[u8]) -> bool {
    let others: [&[u8]; 3] = [b"SUBSYSTEM", b"LOCALNAME", b"CONFIG_ROOT"];
    DETECTED_NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).is_ok()
        || others.iter().any(|known| caseless::eq(known, name))
}

/// Returns the reference's spelling of a detected name.
pub(crate) fn spelling(name: &[u8]) -> Option<&'static str> {
    let at = DETECTED_NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).ok()?;
    Some(DETECTED_NAMES[at].0)
}

/// The settings that determine the host's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// NETWORK_HOSTNAME, which replaces the host's own name.
    pub(crate) network_hostname: BString,
    /// DEFAULT_DOMAIN_NAME, which is appended to a name without a dot.
    pub(crate) default_domain: BString,
    /// Settings for NO_DNS that determine the address from which the name is made.
    pub(crate) no_dns_address: Option<AddressSettings>,
}

type NamedValues = Vec<(&'static str, BString)>;

/// The detected values, determined on demand.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetectedValues {
    groups: [OnceLock<NamedValues>; GROUP_COUNT],
    /// True if HOSTNAME and FULL_HOSTNAME are already available.
    pub(crate) has_host_names: bool,
    /// True if the names of the process and the addresses are already available.
    pub(crate) has_process_values: bool,
    /// Settings that determine the names of the host.
    host: HostSettings,
    /// True if COUNT_HYPERTHREAD_CPUS is false, so that only physical cores are counted.
    only_physical: bool,
    /// The settings by which the addresses were chosen, in order.
    addresses: Vec<AddressSettings>,
}

impl DetectedValues {
    /// Returns the value of a detected name, if it is available at this stage of reading.
    pub(crate) fn find(&self, name: &[u8], world: &dyn World) -> Option<(&'static str, &BStr)> {
        let at = DETECTED_NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).ok()?;
        let group = DETECTED_NAMES[at].1;
        let known = DETECTED_NAMES[at].0;
        match group {
            DetectedGroup::Host if !self.has_host_names => return None,
            DetectedGroup::Process if !self.has_process_values && known != "CondorIsAdmin" => return None,
            DetectedGroup::Address if !self.has_process_values => return None,
            _ => {}
        }
        let values = self.groups[group as usize].get_or_init(|| self.detect_group(group, world));
        values.iter().find(|(name, _)| *name == known).map(|(name, value)| (*name, value.as_ref()))
    }

    /// Returns all values, in the order of their names.
    pub(crate) fn all<'a>(&'a self, world: &'a dyn World) -> impl Iterator<Item = (&'static str, &'a BStr)> {
        DETECTED_NAMES.iter().filter_map(|(name, _)| self.find(name.as_bytes(), world))
    }

    /// Sets the settings that determine the host's name, and discards the detected name if they are new.
    pub(crate) fn set_host(&mut self, host: HostSettings) {
        if host != self.host {
            self.groups[DetectedGroup::Host as usize] = OnceLock::new();
        }
        self.host = host;
        self.has_host_names = true;
    }

    /// Sets the settings by which the addresses are chosen from now on.
    pub(crate) fn set_addresses(&mut self, settings: AddressSettings) {
        if self.addresses.last() != Some(&settings) {
            self.groups[DetectedGroup::Address as usize] = OnceLock::new();
            self.addresses.push(settings);
        }
    }

    /// Sets the value of COUNT_HYPERTHREAD_CPUS, which determines the number of processors.
    pub(crate) fn set_count_hyperthreads(&mut self, count: bool) {
        if self.only_physical == count {
            self.groups[DetectedGroup::Processors as usize] = OnceLock::new();
        }
        self.only_physical = !count;
    }

    fn detect_group(&self, group: DetectedGroup, world: &dyn World) -> NamedValues {
        match group {
            DetectedGroup::Kernel => kernel_values(world),
            DetectedGroup::Distribution => distribution_values(world),
            DetectedGroup::Memory => vec![("DETECTED_MEMORY", memory_mib(world).to_string().into())],
            DetectedGroup::Processors => self.processor_values(world),
            DetectedGroup::CondorHome => {
                world.account_by_name(b"condor").map(|account| ("TILDE", account.home)).into_iter().collect()
            }
            DetectedGroup::Host => self.host_values(world),
            DetectedGroup::Process => own_process_values(world),
            DetectedGroup::Address => {
                // If a later choice has no address of a family, the earlier address stays.
                let (mut chosen, mut values) = (HostAddresses::default(), NamedValues::new());
                for settings in &self.addresses {
                    chosen.choose(settings, world);
                    let new_values = address_values(&chosen);
                    values.retain(|(name, _)| new_values.iter().all(|(known, _)| known != name));
                    values.extend(new_values);
                }
                values
            }
        }
    }

    fn host_values(&self, world: &dyn World) -> NamedValues {
        let HostSettings { network_hostname: network, default_domain: domain, no_dns_address: by_address } =
            &self.host;
        let (host, full) = match () {
            () if !network.is_empty() => (network.clone(), network.clone()),
            () => match by_address {
                Some(settings) => {
                    let name = address::hostname_from_address(
                        HostAddresses::from_settings(settings, world).best,
                        domain,
                    );
                    (name.clone(), name)
                }
                None => {
                    let [host, full, _] = world.host();
                    (BString::from(host), BString::from(full))
                }
            },
        };
        let short: BString = full.split(|&b| b == b'.').next().unwrap_or(&host).into();
        let mut full = full;
        if !full.contains(&b'.') && !domain.is_empty() {
            if !domain.starts_with(b".") {
                full.push(b'.');
            }
            full.extend_from_slice(domain);
        }
        vec![("HOSTNAME", short), ("FULL_HOSTNAME", full)]
    }

    fn processor_values(&self, world: &dyn World) -> NamedValues {
        let (physical, all) = count_processors(&read_or_empty(world, "/proc/cpuinfo"));
        let cpus = if self.only_physical { physical } else { all };
        let mut values = vec![
            ("DETECTED_PHYSICAL_CPUS", BString::from(physical.to_string())),
            ("DETECTED_CPUS", cpus.to_string().into()),
            ("DETECTED_CORES", all.to_string().into()),
        ];
        let limits = ["OMP_THREAD_LIMIT", "SLURM_CPUS_ON_NODE"].into_iter().filter_map(|name| {
            let value = world.env(name.as_ref())?;
            integer_prefix(value.as_encoded_bytes()).map(|(limit, _)| limit)
        });
        let least = limits.filter(|&limit| limit > 0 && limit < cpus as i64).min();
        if let Some(limit) = least {
            values.push(("DETECTED_CPUS_LIMIT", limit.to_string().into()));
        }
        values
    }
}

fn kernel_values(world: &dyn World) -> NamedValues {
    let line =
        |name: &str| -> BString { trim(&read_or_empty(world, &format!("/proc/sys/kernel/{name}"))).into() };
    let (sysname, machine) = match &line("arch")[..] {
        b"" => {
            let [sysname, machine, _] = world.machine().uname;
            (BString::from(sysname), BString::from(machine))
        }
        arch => (line("ostype"), arch.into()),
    };
    let arch: BString = match &machine.to_ascii_lowercase()[..] {
        b"x86_64" | b"amd64" => "X86_64".into(),
        b"i386" | b"i486" | b"i586" | b"i686" | b"i86pc" => "INTEL".into(),
        b"ia64" => "IA64".into(),
        b"ppc" | b"ppc32" => "PPC".into(),
        b"ppc64" => "PPC64".into(),
        _ => machine.clone(),
    };
    vec![
        ("ARCH", arch),
        ("UNAME_ARCH", machine.clone()),
        ("UTSNAME_MACHINE", machine),
        ("OPSYS", "LINUX".into()),
        ("OPSYSLEGACY", "LINUX".into()),
        ("UNAME_OPSYS", sysname.clone()),
        ("UTSNAME_SYSNAME", sysname),
        ("UTSNAME_NODENAME", line("hostname")),
        ("UTSNAME_RELEASE", line("osrelease")),
        ("UTSNAME_VERSION", line("version")),
    ]
}

/// Returns the distribution that a text names (`arch.cpp`, `sysapi_find_linux_name`).
fn distribution_name(text: &[u8]) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    let known: [(&[&str], &str); 13] = [
        (&["red", "hat"], "RedHat"),
        (&["fedora"], "Fedora"),
        (&["ubuntu"], "Ubuntu"),
        (&["debian"], "Debian"),
        (&["scientific", "cern"], "SLCern"),
        (&["scientific", "slf"], "SLFermi"),
        (&["scientific"], "SL"),
        (&["centos"], "CentOS"),
        (&["rocky"], "Rocky"),
        (&["almalinux"], "AlmaLinux"),
        (&["amazon linux"], "AmazonLinux"),
        (&["opensuse"], "openSUSE"),
        (&["suse"], "SUSE"),
    ];
    let has = |words: &[&str]| words.iter().all(|word| text.contains_str(word));
    known.iter().find(|(words, _)| has(words)).map(|&(_, name)| name)
}

/// Returns the first line of a file in `/etc` that names a distribution (`sysapi_get_linux_info`).
fn distribution_long_name(world: &dyn World) -> BString {
    for path in ["/etc/issue", "/etc/redhat-release", "/etc/system-release", "/etc/issue.net"] {
        let text = read_or_empty(world, path);
        let mut line = trim(text.lines().next().unwrap_or_default());
        while let Some(rest) = line.strip_suffix(br"\n").or_else(|| line.strip_suffix(br"\l")) {
            line = trim(rest);
        }
        if distribution_name(line).is_some() {
            return line.into();
        }
    }
    let text = read_or_empty(world, "/etc/os-release");
    let pretty = text.lines().find(|line| line.contains_str("PRETTY_NAME"));
    let quoted = pretty.and_then(|line| line.split(|&b| b == b'"').nth(1));
    quoted.map_or_else(|| "Unknown".into(), BString::from)
}

fn distribution_values(world: &dyn World) -> NamedValues {
    let long = distribution_long_name(world);
    let name = distribution_name(&long).unwrap_or("LINUX");
    let digits = |text: &[u8]| integer_prefix(text).map_or(0, |(value, _)| value);
    let first = long.iter().position(u8::is_ascii_digit).unwrap_or(long.len());
    let number = &long[first..];
    let major = digits(number);
    let mut values = vec![
        ("OPSYSLONGNAME", long.clone()),
        ("OPSYSNAME", name.into()),
        ("OPSYSSHORTNAME", name.into()),
        ("OPSYSANDVER", format!("{name}{major}").into()),
    ];
    if major > 0 {
        let after = &number[number.iter().take_while(|b| b.is_ascii_digit()).count()..];
        let minor = after.strip_prefix(b".").map_or(0, |rest| {
            let digits = rest.iter().take(2).take_while(|b| b.is_ascii_digit()).count();
            integer_prefix(&rest[..digits]).map_or(0, |(value, _)| value)
        });
        values.push(("OPSYSMAJORVER", major.to_string().into()));
        values.push(("OPSYSVER", (major * 100 + minor).to_string().into()));
    }
    values
}

/// Returns the memory in MiB, at most the cgroup's limit (`phys_mem.cpp`).
fn memory_mib(world: &dyn World) -> i64 {
    let meminfo = read_or_empty(world, "/proc/meminfo");
    let total = meminfo.lines().find_map(|line| line.strip_prefix(b"MemTotal:"));
    let physical = total.and_then(integer_prefix).map_or(0, |(kib, _)| kib * 1024);
    let limit = cgroup_memory_limit(world);
    let bytes = if limit > 0 { physical.min(limit) } else { physical };
    bytes / (1024 * 1024)
}

fn cgroup_memory_limit(world: &dyn World) -> i64 {
    let number = |path: String| {
        let value = integer_prefix(&read_or_empty(world, &path)).map_or(0, |(value, _)| value);
        if value > 1 << 60 { 0 } else { value }
    };
    for line in read_or_empty(world, "/proc/self/cgroup").lines() {
        let mut fields = line.splitn(3, |&b| b == b':').skip(1);
        let (Some(controller), Some(cgroup)) = (fields.next(), fields.next()) else {
            continue;
        };
        let cgroup = cgroup.to_str_lossy();
        if controller.is_empty() {
            let names = ["memory.high", "memory.max", "../memory.high", "../memory.max"];
            let mut limits = names.iter().map(|name| number(format!("/sys/fs/cgroup/{cgroup}/{name}")));
            return limits.find(|&limit| limit != 0).unwrap_or(0);
        }
        if controller == b"memory" {
            return number(format!("/sys/fs/cgroup/memory/{cgroup}/memory.limit_in_bytes"));
        }
    }
    0
}

/// Returns the number of physical cores and of all processors (`ncpus.cpp`). Cores are distinguished by
/// physical id and core id if a processor has the flag `ht`.
fn count_processors(cpuinfo: &[u8]) -> (usize, usize) {
    let mut all = 0;
    let mut hyperthreads = false;
    let mut cores: Vec<(i64, i64)> = Vec::new();
    let mut physical = 0;
    for line in cpuinfo.lines() {
        let Some((name, value)) = line.split_once_str(":") else {
            continue;
        };
        let number = || integer_prefix(value).map_or(-1, |(number, _)| number);
        match trim(name) {
            b"processor" => all += 1,
            b"physical id" => physical = number(),
            b"core id" => cores.push((physical, number())),
            b"flags" => hyperthreads |= value.fields().any(|flag| flag == b"ht"),
            _ => {}
        }
    }
    cores.sort_unstable();
    cores.dedup();
    let all = all.max(1);
    let cores = if hyperthreads && !cores.is_empty() { cores.len() } else { all };
    (cores, all)
}

fn own_process_values(world: &dyn World) -> NamedValues {
    let status = read_or_empty(world, "/proc/self/status");
    let field = |name: &str| -> Option<i64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name.as_bytes()))?;
        integer_prefix(value).map(|(number, _)| number)
    };
    let uid = field("Uid:").and_then(|uid| u32::try_from(uid).ok()).unwrap_or_else(|| world.effective_uid());
    let mut values = vec![("CondorIsAdmin", BString::from(if uid == 0 { "true" } else { "false" }))];
    values.push(("REAL_UID", uid.to_string().into()));
    for (name, key) in [("REAL_GID", "Gid:"), ("PID", "Pid:"), ("PPID", "PPid:")] {
        if let Some(value) = field(key) {
            values.push((name, value.to_string().into()));
        }
    }
    if let Some(account) = world.account_by_uid(uid) {
        values.push(("USERNAME", account.name));
    }
    values
}

/// Returns the values that the host's addresses determine (`condor_config.cpp`, `reinsert_specials`).
fn address_values(addresses: &HostAddresses) -> NamedValues {
    let HostAddresses { families: [v4, v6], best } = *addresses;
    let or_best = |address: Option<IpAddr>| address.or(best);
    let first = or_best(v4);
    let text = |address: Option<IpAddr>| address.map_or_else(BString::default, |it| it.to_string().into());
    let is_v6 = if first.is_some_and(|first| first.is_ipv6()) { "true" } else { "false" };
    let mut values = vec![("IP_ADDRESS", text(first)), ("IP_ADDRESS_IS_IPV6", is_v6.into())];
    if first.is_some_and(|first| first.is_ipv4()) {
        values.push(("IPV4_ADDRESS", text(first)));
    }
    let second = or_best(v6).filter(IpAddr::is_ipv6);
    if second.is_some() {
        values.push(("IPV6_ADDRESS", text(second)));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_for_the_binary_search() {
        assert!(DETECTED_NAMES.is_sorted_by(|a, b| caseless::cmp(a.0.as_bytes(), b.0.as_bytes()).is_lt()));
    }

    #[test]
    fn distributions_are_found_in_issue_lines() {
        assert_eq!(distribution_name(b"Debian GNU/Linux 12"), Some("Debian"));
        assert_eq!(distribution_name(b"Red Hat Enterprise Linux 8.4"), Some("RedHat"));
        assert_eq!(distribution_name(b"Something"), None);
    }

    #[test]
    fn hyperthreads_share_cores() {
        let one = |id: i32, core: i32| {
            format!("processor : {id}\nphysical id : 0\ncore id : {core}\nflags : fpu ht\n")
        };
        let text = one(0, 0) + &one(1, 1) + &one(2, 0) + &one(3, 1);
        assert_eq!(count_processors(text.as_bytes()), (2, 4));
        assert_eq!(count_processors(b"processor : 0\nprocessor : 1\n"), (2, 2));
    }
}
