//! Attributes of the machine that are the same in all slot ads (`MachAttributes::publish_static`).

use std::collections::BTreeMap;
use std::path::Path;

use bstr::ByteSlice;

use super::parameters::SlotParameters;
use crate::layout::Volume;
use crate::sleep_state::SleepSupport;
use htc_base::world::{NetworkAdapter, World};
use htc_classad::ClassAd;

/// Measurements of the host, taken before slots are created.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostMeasurements {
    /// Address of the execution point in ads and claim ids.
    pub address: String,
    /// Network adapter that has the address, or `None`.
    pub adapter: Option<NetworkAdapter>,
    /// Reason why EXECUTE cannot be used, or `None`. It becomes the SlotBrokenReason of all slots.
    pub execute_problem: Option<String>,
    /// Free space of the file system of EXECUTE in KiB.
    pub disk_free: i64,
    /// Total size of the file system of EXECUTE in KiB.
    pub disk_total: i64,
    /// Device number of the file system of EXECUTE, as an identifier.
    pub volume: String,
    /// File systems of `SLOT<N>_EXECUTE`, by slot number.
    pub slot_volumes: BTreeMap<u32, Volume>,
    /// True if EXECUTE is on a rotating disk, or `None` if unknown.
    pub rotational: Option<bool>,
    /// Free swap space plus free memory, in KiB.
    pub virtual_memory: i64,
    /// Ad that the administrator's own starter printed (`STARTER -classad`), empty if it was not valid; `None` if our starter is
    /// used.
    pub starter_ad: Option<ClassAd>,
    /// Attributes of the machine's container runtimes, as our starter detects them.
    pub container_runtimes: ClassAd,
    /// Output to use as that of the GPU discovery program, or `None` to run the program.
    pub gpu_discovery_output: Option<String>,
    /// Supported sleep states and methods.
    pub sleep_support: SleepSupport,
}

/// Wake-on-LAN flags of the kernel (`NetworkAdapterBase::getWolString`).
const WAKE_FLAG_NAMES: [(u32, &str); 7] = [
    (1 << 0, "Physical Packet"),
    (1 << 1, "UniCast Packet"),
    (1 << 2, "MultiCast Packet"),
    (1 << 3, "BroadCast Packet"),
    (1 << 4, "ARP Packet"),
    (NetworkAdapter::MAGIC_PACKET_FLAG, "Magic Packet"),
    (1 << 6, "Secure Magic Packet"),
];

/// Publishes the wake-on-LAN attributes (`NetworkAdapterBase::publish`).
fn publish_wake_on_lan(adapter: &NetworkAdapter, ad: &mut ClassAd) {
    let words = |bits: u32| {
        let known: Vec<&str> =
            WAKE_FLAG_NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect();
        if known.is_empty() { "NONE".to_owned() } else { known.join(",") }
    };
    ad.set("IsWakeOnLanSupported", adapter.supported_wake_flags & NetworkAdapter::MAGIC_PACKET_FLAG != 0);
    ad.set("IsWakeOnLanEnabled", adapter.enabled_wake_flags & NetworkAdapter::MAGIC_PACKET_FLAG != 0);
    ad.set("IsWakeAble", adapter.can_wake_on_lan());
    ad.set("WakeOnLanSupportedFlags", words(adapter.supported_wake_flags));
    ad.set("WakeOnLanEnabledFlags", words(adapter.enabled_wake_flags));
}

/// Capabilities of our starter, with the names that `condor_starter -classad` uses.
const OWN_STARTER_CAPABILITIES: [&str; 13] = [
    "HasTDP",
    "HasOsUser",
    "HasReconnect",
    "HasJobDeferral",
    "HasFileTransfer",
    "HasJICLocalStdin",
    "HasJobNetworking",
    "HasJICLocalConfig",
    "HasPerFileEncryption",
    "HasJobTransferPlugins",
    "HasTransferInputRemaps",
    "HasSelfCheckpointTransfers",
    "HasFileTransferPluginMethods",
];

/// Processor flags that are published, in alphabetical order.
const PUBLISHED_CPU_FLAGS: [&str; 8] =
    ["avx", "avx2", "avx512_vnni", "avx512dq", "avx512f", "sse4_1", "sse4_2", "ssse3"];
/// Flags that each microarchitecture level requires, highest level first (`cpuflags_to_microarch_string`).
const MICROARCHITECTURE_LEVELS: [(&str, &[&str]); 3] = [
    ("x86_64-v4", &["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"]),
    ("x86_64-v3", &["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"]),
    ("x86_64-v2", &["cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"]),
];

/// Publishes the attributes of the machine in `ad`.
pub(super) fn publish_machine_attributes(
    parameters: &SlotParameters<'_>,
    world: &dyn World,
    host_measurements: &HostMeasurements,
    ad: &mut ClassAd,
) {
    let host = parameters.string("FULL_HOSTNAME").unwrap_or_else(|| world.full_host());
    for (name, value) in [
        ("MyType", "Machine"),
        ("TargetType", "Job"),
        ("CondorScratchDir", "#CoNdOrScRaTcHdIr#"),
        ("MyAddress", host_measurements.address.as_str()),
        ("StartdIpAddr", host_measurements.address.as_str()),
        ("Machine", host.as_str()),
        ("ExecuteVolume", host_measurements.volume.as_str()),
    ] {
        ad.set(name, value);
    }
    // In the reference, NetworkAdapterBase and DaemonCore publish these attributes.
    if let Some(adapter) = &host_measurements.adapter {
        ad.set("HardwareAddress", adapter.hardware_address.as_str());
        ad.set("SubnetMask", adapter.subnet_mask.as_str());
    }
    let network = parameters.string("PRIVATE_NETWORK_NAME").unwrap_or_else(|| host.clone());
    ad.set("PrivateNetworkName", network);
    ad.set("UidDomain", parameters.string("UID_DOMAIN").unwrap_or_else(|| host.clone()));
    ad.set("FileSystemDomain", parameters.string("FILESYSTEM_DOMAIN").unwrap_or(host));
    ad.set("HasIOProxy", true);
    ad.set("HasStartDaemonAd", true);
    ad.set("IsLocalStartd", parameters.boolean("IS_LOCAL_STARTD", false));
    if let Some(schedd) = parameters.string("STARTD_DIRECT_ATTACH_SCHEDD_NAME") {
        ad.set("IsDirectAttach", schedd);
    }
    publish_operating_system(parameters, ad);
    ad.set("DetectedCpus", parameters.int("DETECTED_CPUS", 1));
    ad.set("DetectedMemory", parameters.int("DETECTED_MEMORY", 0));
    ad.set("DetectedDisk", host_measurements.disk_total);
    if let Ok(text) = world.read_file(Path::new("/proc/cpuinfo"), Some(1 << 20)) {
        publish_processor(&text.to_str_lossy(), ad);
    }
    let namespaces = world.read_file(Path::new("/proc/sys/user/max_user_namespaces"), Some(64));
    if namespaces.is_ok_and(|text| text.trim() != b"0") {
        ad.set("HasUserNamespaces", true);
    }
    if let Some(rotational) = host_measurements.rotational {
        ad.set("HasRotationalScratch", rotational);
    }
    ad.set("HasVM", false);
    match &host_measurements.starter_ad {
        None => {
            publish_own_starter_capabilities(&host_measurements.container_runtimes, ad);
            ad.set("HasJobNetworking", !parameters.boolean("NO_JOB_NETWORKING", false));
        }
        Some(starter_ad) => publish_other_starter_capabilities(starter_ad, ad),
    }
    for volume in parameters.words("DOCKER_VOLUMES") {
        ad.set(format!("HasDockerVolume{volume}").as_str(), true);
    }
    if let Some(networks) = parameters.string("DOCKER_NETWORKS") {
        ad.set("DockerNetworks", networks);
    }
    let version = concat!("$CondorVersion: 25.14.0 htc-hooks ", env!("CARGO_PKG_VERSION"), " $");
    ad.set("CondorVersion", version);
    let system = parameters.string("OPSYSANDVER").unwrap_or_else(|| "Linux".into());
    let arch = parameters.string("ARCH").unwrap_or_default();
    ad.set("CondorPlatform", format!("$CondorPlatform: {arch}-{system} $"));
}

fn publish_operating_system(parameters: &SlotParameters<'_>, ad: &mut ClassAd) {
    for (name, parameter) in [
        ("Arch", "ARCH"),
        ("OpSys", "OPSYS"),
        ("OpSysAndVer", "OPSYSANDVER"),
        ("OpSysLegacy", "OPSYSLEGACY"),
        ("OpSysLongName", "OPSYSLONGNAME"),
        ("OpSysName", "OPSYSNAME"),
        ("OpSysShortName", "OPSYSSHORTNAME"),
        ("UtsnameMachine", "UTSNAME_MACHINE"),
        ("UtsnameNodename", "UTSNAME_NODENAME"),
        ("UtsnameRelease", "UTSNAME_RELEASE"),
        ("UtsnameSysname", "UTSNAME_SYSNAME"),
        ("UtsnameVersion", "UTSNAME_VERSION"),
    ] {
        if let Some(value) = parameters.text(parameter) {
            ad.set(name, value);
        }
    }
    for (name, parameter) in [("OpSysVer", "OPSYSVER"), ("OpSysMajorVer", "OPSYSMAJORVER")] {
        if let Some(number) = parameters.string(parameter).and_then(|text| text.parse::<i64>().ok()) {
            ad.set(name, number);
        }
    }
}

/// Publishes attributes of the first processor in `text`, the content of `/proc/cpuinfo`.
fn publish_processor(text: &str, ad: &mut ClassAd) {
    let field = |wanted: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == wanted).then(|| value.trim().to_owned())
        })
    };
    let number = |wanted: &str| {
        let value = field(wanted)?;
        value.split(' ').next()?.parse::<i64>().ok().filter(|&number| number > 0)
    };
    for (name, wanted) in
        [("CpuModelNumber", "model"), ("CpuFamily", "cpu family"), ("CpuCacheSize", "cache size")]
    {
        if let Some(number) = number(wanted) {
            ad.set(name, number);
        }
    }
    let flags = field("flags").unwrap_or_default();
    let flags: Vec<&str> = flags.split_ascii_whitespace().collect();
    for flag in PUBLISHED_CPU_FLAGS.into_iter().filter(|flag| flags.contains(flag)) {
        ad.set(format!("has_{flag}").as_str(), true);
    }
    if cfg!(target_arch = "x86_64") {
        let level =
            MICROARCHITECTURE_LEVELS.iter().find(|(_, needs)| needs.iter().all(|flag| flags.contains(flag)));
        ad.set("Microarch", level.map_or("x86_64-v1", |(level, _)| level));
    }
}

fn publish_own_starter_capabilities(runtimes: &ClassAd, ad: &mut ClassAd) {
    for name in OWN_STARTER_CAPABILITIES.into_iter().take(12) {
        ad.set(name, true);
    }
    ad.set("HasSshd", false);
    ad.set("HasCommonFilesTransfer", 2i64);
    ad.set("HasFileTransferPluginMethods", "data,file,ftp,http,https");
    ad.set("MappingMethod", "Hardlink");
    let mut names = vec!["HasVM", "HasSshd", "HasCommonFilesTransfer"];
    names.extend(OWN_STARTER_CAPABILITIES);
    ad.update(runtimes);
    let has: Vec<String> =
        runtimes.names().map(ToString::to_string).filter(|name| name.starts_with("Has")).collect();
    names.extend(has.iter().map(String::as_str));
    names.sort_by_key(|name| (name.len(), *name));
    ad.set("StarterAbilityList", names.join(","));
}

/// Publishes the capabilities that the administrator's own starter reports, as `Starter::publish` does.
fn publish_other_starter_capabilities(starter_ad: &ClassAd, ad: &mut ClassAd) {
    if starter_ad.is_empty() {
        return;
    }
    let mut names: Vec<String> = Vec::new();
    for (name, expr) in starter_ad.iter() {
        if name.eq_ignore_ascii_case(b"Version") || name.eq_ignore_ascii_case(b"IsDaemonCore") {
            continue;
        }
        if name.as_bytes().get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"Has")) {
            names.push(name.to_string());
        }
        ad.insert(name, expr);
    }
    names.sort_by_key(|name| (name.len(), name.to_ascii_lowercase()));
    ad.set("StarterAbilityList", names.join(","));
}

/// Publishes the attributes of wake-on-LAN and of an awake machine, which every slot ad of a real execution point contains.
pub(super) fn publish_awake_attributes(adapter: Option<&NetworkAdapter>, ad: &mut ClassAd) {
    ad.set("HibernationLevel", 0i64);
    ad.set("HibernationState", "NONE");
    ad.set("HibernationSupportedStates", "");
    ad.set("CanHibernate", false);
    publish_wake_on_lan(&adapter.cloned().unwrap_or_default(), ad);
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::Value;

    #[test]
    fn wake_methods_are_published_as_in_25_14() {
        let adapter = |wakes, wakes_now| NetworkAdapter {
            supported_wake_flags: wakes,
            enabled_wake_flags: wakes_now,
            ..NetworkAdapter::default()
        };
        for (adapter, can, flags) in [
            (adapter(0x7f, 0x21), true, "Physical Packet,Magic Packet"),
            (adapter(0x7f, 0x01), false, "Physical Packet"),
            (adapter(0, 0), false, "NONE"),
        ] {
            let mut ad = ClassAd::new();
            publish_wake_on_lan(&adapter, &mut ad);
            assert_eq!(ad.literal("IsWakeAble"), Some(Value::Bool(can)), "{adapter:?}");
            assert_eq!(ad.string("WakeOnLanEnabledFlags").map(|text| text.to_string()), Some(flags.into()));
            assert_eq!(adapter.can_wake_on_lan(), can);
        }
    }

    #[test]
    fn a_processor_is_described_by_its_first_entry() {
        let text = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: X\ncache size\t: 266240 KB\n\
                    flags\t\t: abm avx avx2 bmi1 bmi2 f16c fma movbe xsave ssse3\n\nprocessor\t: 1\nmodel\t: 3\n";
        let mut ad = ClassAd::new();
        publish_processor(text, &mut ad);
        let number = |name: &str| ad.literal(name).and_then(|value| value.as_int());
        assert_eq!((number("CpuFamily"), number("CpuModelNumber")), (Some(6), Some(207)));
        assert_eq!(number("CpuCacheSize"), Some(266_240));
        assert!(ad.contains("has_avx2") && !ad.contains("has_avx512f") && !ad.contains("has_abm"));
        if cfg!(target_arch = "x86_64") {
            assert_eq!(ad.string("Microarch").map(ToString::to_string), Some("x86_64-v3".into()));
        }
    }
}
