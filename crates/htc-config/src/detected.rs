//! Facts of the machine and the process that stand in the table as if a file had set them (`fill_attributes`, `reinsert_specials`, condor_config.cpp).
//!
//! Measuring them takes longer than reading a configuration, so each group is measured when one of its names is first
//! looked up. Where the reference puts them over what files say, the loader takes the files' definitions out of the
//! table; where files may override them, the table simply goes first.

use core::net::IpAddr;
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};

use htc_base::text::caseless;
use htc_base::text::number::integer_prefix;
use htc_base::text::space::trim;
use htc_base::world::World;

mod address;
mod system_file;

use self::system_file::read;
pub(crate) use address::{AddressSettings, Addresses, Interface, is_uneven};

/// Names that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The kernel's names.
    Kernel,
    /// Name and version of the distribution.
    System,
    /// Memory.
    Memory,
    /// Processors.
    Processors,
    /// The home of the account `condor`.
    Tilde,
    /// Names of the host.
    Host,
    /// The process and its user.
    Process,
    /// Addresses.
    Address,
}

const GROUPS: usize = 8;

/// All detected names with their groups, sorted without case.
const NAMES: [(&str, Group); 34] = [
    ("ARCH", Group::Kernel),
    ("CondorIsAdmin", Group::Process),
    ("DETECTED_CORES", Group::Processors),
    ("DETECTED_CPUS", Group::Processors),
    ("DETECTED_CPUS_LIMIT", Group::Processors),
    ("DETECTED_MEMORY", Group::Memory),
    ("DETECTED_PHYSICAL_CPUS", Group::Processors),
    ("FULL_HOSTNAME", Group::Host),
    ("HOSTNAME", Group::Host),
    ("IP_ADDRESS", Group::Address),
    ("IP_ADDRESS_IS_IPV6", Group::Address),
    ("IPV4_ADDRESS", Group::Address),
    ("IPV6_ADDRESS", Group::Address),
    ("OPSYS", Group::Kernel),
    ("OPSYSANDVER", Group::System),
    ("OPSYSLEGACY", Group::Kernel),
    ("OPSYSLONGNAME", Group::System),
    ("OPSYSMAJORVER", Group::System),
    ("OPSYSNAME", Group::System),
    ("OPSYSSHORTNAME", Group::System),
    ("OPSYSVER", Group::System),
    ("PID", Group::Process),
    ("PPID", Group::Process),
    ("REAL_GID", Group::Process),
    ("REAL_UID", Group::Process),
    ("TILDE", Group::Tilde),
    ("UNAME_ARCH", Group::Kernel),
    ("UNAME_OPSYS", Group::Kernel),
    ("USERNAME", Group::Process),
    ("UTSNAME_MACHINE", Group::Kernel),
    ("UTSNAME_NODENAME", Group::Kernel),
    ("UTSNAME_RELEASE", Group::Kernel),
    ("UTSNAME_SYSNAME", Group::Kernel),
    ("UTSNAME_VERSION", Group::Kernel),
];

/// Whether a name is one of these.
pub fn is_detected(name: &[u8]) -> bool {
    let others: [&[u8]; 3] = [b"SUBSYSTEM", b"LOCALNAME", b"CONFIG_ROOT"];
    NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).is_ok()
        || others.iter().any(|known| caseless::eq(known, name))
}

/// How the reference spells a detected name.
pub(crate) fn spelling(name: &[u8]) -> Option<&'static str> {
    let at = NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).ok()?;
    Some(NAMES[at].0)
}

/// The settings that the host's names are made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// NETWORK_HOSTNAME, which takes the place of the host's own name.
    pub(crate) network: BString,
    /// DEFAULT_DOMAIN_NAME, which follows a name without a dot.
    pub(crate) domain: BString,
    /// NO_DNS: the name is made from the address that these settings give.
    pub(crate) by_address: Option<AddressSettings>,
}

type Values = Vec<(&'static str, BString)>;

/// The detected values, measured when asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detected {
    groups: [OnceLock<Values>; GROUPS],
    /// Whether HOSTNAME and FULL_HOSTNAME are there yet.
    pub(crate) has_host: bool,
    /// Whether names of process and addresses are there yet.
    pub(crate) has_process: bool,
    /// What the host's names are made from.
    host: HostSettings,
    /// COUNT_HYPERTHREAD_CPUS.
    only_physical: bool,
    /// The settings that the addresses were chosen by, in order.
    addresses: Vec<AddressSettings>,
}

impl Detected {
    /// The value of a name, if it is one of these and there is one at this stage of reading.
    pub(crate) fn find(&self, name: &[u8], world: &dyn World) -> Option<(&'static str, &BStr)> {
        let at = NAMES.binary_search_by(|(known, _)| caseless::cmp(known.as_bytes(), name)).ok()?;
        let group = NAMES[at].1;
        let known = NAMES[at].0;
        match group {
            Group::Host if !self.has_host => return None,
            Group::Process if !self.has_process && known != "CondorIsAdmin" => return None,
            Group::Address if !self.has_process => return None,
            _ => {}
        }
        let values = self.groups[group as usize].get_or_init(|| self.measure(group, world));
        values.iter().find(|(name, _)| *name == known).map(|(name, value)| (*name, value.as_ref()))
    }

    /// All values, in the order of their names.
    pub(crate) fn all<'a>(&'a self, world: &'a dyn World) -> impl Iterator<Item = (&'static str, &'a BStr)> {
        NAMES.iter().filter_map(|(name, _)| self.find(name.as_bytes(), world))
    }

    /// Sets what the host's name is made from and forgets the one that was found.
    pub(crate) fn set_host(&mut self, host: HostSettings) {
        if host != self.host {
            self.groups[Group::Host as usize] = OnceLock::new();
        }
        self.host = host;
        self.has_host = true;
    }

    /// Sets what the addresses are chosen by from here on.
    pub(crate) fn set_addresses(&mut self, settings: AddressSettings) {
        if self.addresses.last() != Some(&settings) {
            self.groups[Group::Address as usize] = OnceLock::new();
            self.addresses.push(settings);
        }
    }

    /// Sets COUNT_HYPERTHREAD_CPUS.
    pub(crate) fn set_count_hyperthreads(&mut self, count: bool) {
        if self.only_physical == count {
            self.groups[Group::Processors as usize] = OnceLock::new();
        }
        self.only_physical = !count;
    }

    fn measure(&self, group: Group, world: &dyn World) -> Values {
        match group {
            Group::Kernel => kernel(world),
            Group::System => system(world),
            Group::Memory => vec![("DETECTED_MEMORY", memory(world).to_string().into())],
            Group::Processors => self.processors(world),
            Group::Tilde => {
                world.account_by_name(b"condor").map(|account| ("TILDE", account.home)).into_iter().collect()
            }
            Group::Host => self.host(world),
            Group::Process => process(world),
            Group::Address => {
                // A later choice that leaves a family without an address does not take back the earlier one.
                let (mut chosen, mut values) = (Addresses::default(), Values::new());
                for settings in &self.addresses {
                    chosen.choose(settings, world);
                    let now = addresses(&chosen);
                    values.retain(|(name, _)| now.iter().all(|(known, _)| known != name));
                    values.extend(now);
                }
                values
            }
        }
    }

    fn host(&self, world: &dyn World) -> Values {
        let HostSettings { network, domain, by_address } = &self.host;
        let (host, full) = match () {
            () if !network.is_empty() => (network.clone(), network.clone()),
            () => match by_address {
                Some(settings) => {
                    let name = address::as_name(Addresses::of(settings, world).best, domain);
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

    fn processors(&self, world: &dyn World) -> Values {
        let (physical, all) = count_processors(&read(world, "/proc/cpuinfo"));
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

fn kernel(world: &dyn World) -> Values {
    let line = |name: &str| -> BString { trim(&read(world, &format!("/proc/sys/kernel/{name}"))).into() };
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

/// The distribution that a text names (`arch.cpp`, `sysapi_find_linux_name`).
fn distribution(text: &[u8]) -> Option<&'static str> {
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

/// The first line of a file of `/etc` that names a distribution (`sysapi_get_linux_info`).
fn long_name(world: &dyn World) -> BString {
    for path in ["/etc/issue", "/etc/redhat-release", "/etc/system-release", "/etc/issue.net"] {
        let text = read(world, path);
        let mut line = trim(text.lines().next().unwrap_or_default());
        while let Some(rest) = line.strip_suffix(br"\n").or_else(|| line.strip_suffix(br"\l")) {
            line = trim(rest);
        }
        if distribution(line).is_some() {
            return line.into();
        }
    }
    let text = read(world, "/etc/os-release");
    let pretty = text.lines().find(|line| line.contains_str("PRETTY_NAME"));
    let quoted = pretty.and_then(|line| line.split(|&b| b == b'"').nth(1));
    quoted.map_or_else(|| "Unknown".into(), BString::from)
}

fn system(world: &dyn World) -> Values {
    let long = long_name(world);
    let name = distribution(&long).unwrap_or("LINUX");
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

/// MiB of memory, no more than the cgroup's limit (`phys_mem.cpp`).
fn memory(world: &dyn World) -> i64 {
    let meminfo = read(world, "/proc/meminfo");
    let total = meminfo.lines().find_map(|line| line.strip_prefix(b"MemTotal:"));
    let physical = total.and_then(integer_prefix).map_or(0, |(kib, _)| kib * 1024);
    let limit = cgroup_limit(world);
    let bytes = if limit > 0 { physical.min(limit) } else { physical };
    bytes / (1024 * 1024)
}

fn cgroup_limit(world: &dyn World) -> i64 {
    let number = |path: String| {
        let value = integer_prefix(&read(world, &path)).map_or(0, |(value, _)| value);
        if value > 1 << 60 { 0 } else { value }
    };
    for line in read(world, "/proc/self/cgroup").lines() {
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

/// Physical cores and all processors (`ncpus.cpp`): cores are told apart by physical and core id where a processor
/// has the flag `ht`.
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

fn process(world: &dyn World) -> Values {
    let status = read(world, "/proc/self/status");
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

/// The values that the host's addresses give (`condor_config.cpp`, `reinsert_specials`).
fn addresses(found: &Addresses) -> Values {
    let Addresses { families: [v4, v6], best } = *found;
    let of_family = |own: Option<IpAddr>| own.or(best);
    let first = of_family(v4);
    let text = |address: Option<IpAddr>| address.map_or_else(BString::default, |it| it.to_string().into());
    let is_v6 = if first.is_some_and(|first| first.is_ipv6()) { "true" } else { "false" };
    let mut values = vec![("IP_ADDRESS", text(first)), ("IP_ADDRESS_IS_IPV6", is_v6.into())];
    if first.is_some_and(|first| first.is_ipv4()) {
        values.push(("IPV4_ADDRESS", text(first)));
    }
    let second = of_family(v6).filter(IpAddr::is_ipv6);
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
        assert!(NAMES.is_sorted_by(|a, b| caseless::cmp(a.0.as_bytes(), b.0.as_bytes()).is_lt()));
    }

    #[test]
    fn distributions_are_found_in_issue_lines() {
        assert_eq!(distribution(b"Debian GNU/Linux 12"), Some("Debian"));
        assert_eq!(distribution(b"Red Hat Enterprise Linux 8.4"), Some("RedHat"));
        assert_eq!(distribution(b"Something"), None);
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
