//! Control groups of version 1: one hierarchy for each controller or for a few controllers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::usage::GroupUsage;
use super::version::{CgroupVersion, LimitedResource, parse_field, read_number, write_file, write_number};
use htc_base::process::DeviceNumber;

/// Implementation of version 1.
pub(super) struct CgroupV1;

/// Clock ticks per second in the accounting files (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

impl CgroupVersion for CgroupV1 {
    fn create(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(parent.join(base))?;
        let group = parent.join(base).join(name);
        fs::create_dir(&group)?;
        Ok(vec![group])
    }

    fn outermost_name(&self, name: &str) -> String {
        name.to_owned()
    }

    fn set_limit(&self, group: &Path, what: LimitedResource, value: u64) -> io::Result<Option<u64>> {
        let file = match what {
            LimitedResource::Memory => "memory.limit_in_bytes",
            LimitedResource::Swap { .. } => "memory.memsw.limit_in_bytes",
            LimitedResource::Cpu => "cpu.shares",
            LimitedResource::Processes => "pids.max",
            // Version 1 has no such setting: `memory.soft_limit_in_bytes` has the opposite meaning, and the
            // reference does not use it.
            LimitedResource::MemoryLow => return Ok(None),
        };
        write_number(&group.join(file), value)
    }

    fn deny_device(&self, group: &Path, DeviceNumber { major, minor }: DeviceNumber) -> io::Result<bool> {
        let file = group.join("devices.deny");
        match file.exists() {
            true => write_file(&file, &format!("c {major}:{minor} rwm")).map(|()| true),
            false => Ok(false),
        }
    }

    fn set_frozen(&self, group: &Path, freeze: bool) -> bool {
        write_file(&group.join("freezer.state"), if freeze { "FROZEN" } else { "THAWED" }).is_ok()
    }

    fn kill_all(&self, _: &Path) -> bool {
        false
    }

    fn add_usage(&self, group: &Path, controllers: &[String], counts: &mut GroupUsage) {
        // The files of other controllers are in other hierarchies.
        let read = |name: &str| {
            let (controller, _) = name.split_once('.')?;
            let is_counted = controllers.is_empty() || controllers.iter().any(|one| one == controller);
            is_counted.then(|| fs::read_to_string(group.join(name)).ok()).flatten()
        };
        let ticks = |count: u64| Duration::from_millis(count.saturating_mul(1000 / TICKS_PER_SECOND));
        if let Some(text) = read("cpuacct.stat") {
            counts.user = parse_field(&text, "user").map(ticks);
            counts.system = parse_field(&text, "system").map(ticks);
        }
        if let Some(text) = read("memory.stat") {
            counts.memory = parse_field(&text, "total_rss").or_else(|| parse_field(&text, "rss"));
            counts.cache = parse_field(&text, "total_cache").unwrap_or(0);
            counts.peak_memory = read_number(&group.join("memory.max_usage_in_bytes"));
        }
        if let Some(text) = read("blkio.throttle.io_service_bytes_recursive") {
            (counts.read_bytes, counts.written_bytes) =
                (sum_operations(&text, "Read"), sum_operations(&text, "Write"));
        }
        if let Some(text) = read("blkio.throttle.io_serviced_recursive") {
            (counts.reads, counts.writes) = (sum_operations(&text, "Read"), sum_operations(&text, "Write"));
        }
        if let Some(text) = read("pids.events") {
            counts.forks_refused = parse_field(&text, "max").unwrap_or(0);
        }
    }

    fn oom_kill_count(&self, group: &Path) -> u64 {
        let text = fs::read_to_string(group.join("memory.oom_control")).unwrap_or_default();
        parse_field(&text, "oom_kill").unwrap_or(0)
    }

    fn kills_whole_group(&self) -> bool {
        false
    }

    fn delegated_files(&self) -> &'static [&'static str] {
        // The reference changes the owner of the directory but not of the files in it.
        &[]
    }
}

/// Returns the sum over all devices of the operations of one kind, from lines such as `8:0 Read 4096`, or
/// `None` if there is no such line.
fn sum_operations(text: &str, kind: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (device, word, count) = (words.next()?, words.next()?, words.next()?);
        if device.contains(':') && word == kind { count.parse::<u64>().ok() } else { None }
    };
    Some(text.lines().filter_map(of_line).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_summed_over_devices() {
        let text = "8:0 Read 4096\n8:0 Write 1\n259:0 Read 5\nTotal 4102\n";
        assert_eq!((sum_operations(text, "Read"), sum_operations(text, "Write")), (Some(4101), Some(1)));
        assert_eq!(sum_operations("Total 0\n", "Read"), Some(0));
    }
}
