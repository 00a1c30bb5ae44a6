//! Measurements of the machine: once before the slots are created, and then periodically.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nix::libc;
use nix::sys::statvfs::statvfs;

use super::idle::InputDevices;
use htc_base::time::MonotonicTime;
use htc_os::{clock, network_adapter, process_table, strerror};
use htc_slot::{HostMeasurements, Measurements, Volume};

/// Measures the properties of the machine that do not change. `address` is the IP address of the machine. If EXECUTE
/// does not exist, the disk on which it would be created is measured.
pub(super) fn measure_surroundings(address: &str, execute: Option<&Path>) -> HostMeasurements {
    let port = 9618;
    let there = execute.and_then(|path| path.ancestors().find(|path| path.is_dir()));
    let (free, total) = there.and_then(disk_space).unwrap_or((0, 0));
    let device = there.and_then(device_number);
    HostMeasurements {
        gpu_discovery_output: None,
        sleep_support: Default::default(),
        execute_problem: execute.and_then(|path| inaccessible_reason(path, "EXECUTE")),
        adapter: address.parse().ok().and_then(network_adapter::find_by_address),
        address: format!("<{address}:{port}?addrs={address}-{port}>"),
        disk_free: free,
        disk_total: total,
        volume: device.map_or_else(String::new, |device| device.to_string()),
        slot_volumes: BTreeMap::new(),
        rotational: device.and_then(is_rotational),
        virtual_memory: virtual_memory(),
        starter_ad: None,
        container_runtimes: htc_classad::ClassAd::new(),
    }
}

/// Returns the reason why an execute directory cannot be used, in the wording of 25.14 (`GetExecuteDirPartitionId`),
/// or `None` if it can be used.
fn inaccessible_reason(path: &Path, parameter: &str) -> Option<String> {
    let errno = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return None,
        Ok(_) => libc::ENOTDIR,
        Err(error) => error.raw_os_error().unwrap_or(0),
    };
    Some(format!(
        "Error accessing execute directory {} specified in the configuration setting {parameter}: (errno={errno}) {}",
        path.display(),
        strerror(errno)
    ))
}

/// Measures the volume of a directory that `SLOT<N>_EXECUTE` names.
pub(super) fn measure_slot_volume(path: &Path, parameter: &str) -> Volume {
    let missing = inaccessible_reason(path, parameter);
    let there = Some(path).filter(|_| missing.is_none());
    let (free, total) = there.and_then(disk_space).unwrap_or((0, 0));
    let id = there.and_then(device_number).map_or_else(|| "<none>".to_owned(), |device| device.to_string());
    Volume { id, free, total, execute_problem: missing }
}

/// Returns the number of the device that a file is on.
fn device_number(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| metadata.dev())
}

/// Returns the free and total size of a file system in KiB.
fn disk_space(path: &Path) -> Option<(i64, i64)> {
    let status = statvfs(path).ok()?;
    let unit = status.fragment_size().max(1);
    let kib = |blocks: u64| i64::try_from(u128::from(blocks) * u128::from(unit) / 1024).unwrap_or(i64::MAX);
    Some((kib(status.blocks_available()), kib(status.blocks())))
}

/// Returns true if a device, or the disk of a partition, is rotational, or `None` if that is unknown.
fn is_rotational(device: u64) -> Option<bool> {
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let base = format!("/sys/dev/block/{major}:{minor}");
    let read = |path: String| fs::read_to_string(path).ok();
    let text =
        read(format!("{base}/queue/rotational")).or_else(|| read(format!("{base}/../queue/rotational")))?;
    Some(text.trim() == "1")
}

/// Returns the free swap space plus total memory in KiB (`sysapi_swap_space_raw`).
fn virtual_memory() -> i64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |wanted: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(wanted)?.split_ascii_whitespace().next()?.parse::<i64>().ok())
            .unwrap_or(0)
    };
    (field("SwapFree:") + field("MemTotal:")).min(i64::from(i32::MAX))
}

/// Returns the load average over one minute.
fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Sampler of the properties that change, which measures at most once per second.
pub struct MachineSampler {
    devices: InputDevices,
    last_sample: Option<MonotonicTime>,
    /// Processor ticks that this process has used, with the time of the measurement.
    used_ticks: (u64, MonotonicTime),
}

impl MachineSampler {
    /// Creates a sampler; `devices` are the sources of keyboard and console input.
    pub fn new(devices: InputDevices) -> Self {
        MachineSampler { devices, last_sample: None, used_ticks: (0, clock::monotonic_now()) }
    }

    /// Returns new measurements, or `None` if the last ones are less than one second old.
    pub fn take_sample(&mut self) -> Option<Measurements> {
        let now = clock::now();
        if self.last_sample.is_some_and(|last| now.monotonic().since(last).as_millis() < 1000) {
            return None;
        }
        self.last_sample = Some(now.monotonic());
        let own = i32::try_from(std::process::id()).ok().and_then(process_table::read_process);
        let ticks: u64 = own.as_ref().map_or(0, |own| own.cpu_ticks.iter().sum());
        let passed = now.monotonic().since(self.used_ticks.1).as_secs_f64();
        // An accounting tick is a hundredth of a second.
        let own_cpu =
            if passed > 0.0 { ticks.saturating_sub(self.used_ticks.0) as f64 / passed } else { 0.0 };
        self.used_ticks = (ticks, now.monotonic());
        let size = own.map_or([0, 0], |own| {
            let kib = |bytes: u64| i64::try_from(bytes / 1024).unwrap_or(i64::MAX);
            [kib(own.virtual_size), i64::try_from(own.resident_pages * 4).unwrap_or(i64::MAX)]
        });
        let idle = self.devices.measure_idle(now.epoch());
        Some(Measurements {
            load: load_average(),
            keyboard_idle: Some(idle.keyboard),
            console_idle: idle.console,
            last_input_at: None,
            free_disk: None,
            virtual_memory: virtual_memory(),
            own_size: size,
            own_cpu,
            processors: std::thread::available_parallelism()
                .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
            jobs: Vec::new(),
        })
    }
}
