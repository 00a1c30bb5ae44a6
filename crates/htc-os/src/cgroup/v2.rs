//! Control groups of version 2: one tree, in which each group enables the controllers of its subgroups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::usage::GroupUsage;
use super::version::{CgroupVersion, LimitedResource, parse_field, read_number, write_file, write_number};
use htc_base::process::DeviceNumber;

/// Implementation of version 2.
pub(super) struct CgroupV2;

/// Controllers that are enabled for subgroups (`makeCgroup`). Each controller is enabled by a separate write,
/// because the kernel may reject some.
const DELEGATED_CONTROLLERS: [&str; 4] = ["memory", "pids", "cpu", "io"];

impl CgroupVersion for CgroupV2 {
    /// Creates the directories `NAME.slice/NAME.scope`. A group that contains processes cannot enable
    /// controllers for subgroups, so the processes are placed in the inner group, and subgroups of a job can
    /// be created in the outer group.
    fn create(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<PathBuf>> {
        let mut group = parent.to_owned();
        enable_subtree_controllers(&group);
        for part in Path::new(base).components() {
            group.push(part);
            create_if_missing(&group)?;
            enable_subtree_controllers(&group);
        }
        let slice = group.join(self.outermost_name(name));
        let scope = slice.join(format!("{name}.scope"));
        fs::create_dir(&slice)?;
        enable_subtree_controllers(&slice);
        if let Err(error) = fs::create_dir(&scope) {
            drop(fs::remove_dir(&slice));
            return Err(error);
        }
        // Without `memory.oom.group`, the kernel kills one process instead of the whole group.
        drop(write_file(&slice.join("memory.oom.group"), "1"));
        Ok(vec![slice, scope])
    }

    fn outermost_name(&self, name: &str) -> String {
        format!("{name}.slice")
    }

    fn set_limit(&self, group: &Path, what: LimitedResource, value: u64) -> io::Result<Option<u64>> {
        match what {
            LimitedResource::Memory => write_number(&group.join("memory.max"), value),
            LimitedResource::MemoryLow => write_number(&group.join("memory.low"), value),
            // The file limits swap space alone, but the requested limit is for memory and swap space
            // together.
            LimitedResource::Swap { memory } => {
                let swap = write_number(&group.join("memory.swap.max"), value.saturating_sub(memory))?;
                Ok(swap.map(|swap| swap.saturating_add(memory)))
            }
            LimitedResource::Cpu => write_number(&group.join("cpu.weight"), value.clamp(1, 10_000)),
            LimitedResource::Processes => write_number(&group.join("pids.max"), value),
        }
    }

    fn deny_device(&self, _: &Path, _: DeviceNumber) -> io::Result<bool> {
        Ok(false)
    }

    fn set_frozen(&self, group: &Path, freeze: bool) -> bool {
        write_file(&group.join("cgroup.freeze"), if freeze { "1" } else { "0" }).is_ok()
    }

    fn kill_all(&self, group: &Path) -> bool {
        write_file(&group.join("cgroup.kill"), "1").is_ok()
    }

    fn add_usage(&self, group: &Path, _: &[String], counts: &mut GroupUsage) {
        let read = |name: &str| fs::read_to_string(group.join(name)).ok();
        if let Some(text) = read("cpu.stat") {
            counts.user = parse_field(&text, "user_usec").map(Duration::from_micros);
            counts.system = parse_field(&text, "system_usec").map(Duration::from_micros);
        }
        if let Some(text) = read("memory.stat") {
            let of = |name: &str| parse_field(&text, name).unwrap_or(0);
            counts.memory = Some(of("anon").saturating_add(of("shmem")));
            counts.cache = of("file").saturating_add(of("inactive_anon"));
            counts.peak_memory = read_number(&group.join("memory.peak"));
        }
        if let Some(text) = read("io.stat") {
            let of = |name: &str| Some(sum_over_devices(&text, name));
            (counts.read_bytes, counts.written_bytes) = (of("rbytes"), of("wbytes"));
            (counts.reads, counts.writes) = (of("rios"), of("wios"));
        }
        if let Some(text) = read("pids.events") {
            counts.forks_refused = parse_field(&text, "max").unwrap_or(0);
        }
    }

    fn oom_kill_count(&self, group: &Path) -> u64 {
        let text = fs::read_to_string(group.join("memory.events")).unwrap_or_default();
        ["oom_kill", "oom_group_kill"].iter().filter_map(|name| parse_field(&text, name)).max().unwrap_or(0)
    }

    fn kills_whole_group(&self) -> bool {
        true
    }

    fn delegated_files(&self) -> &'static [&'static str] {
        &["cgroup.procs", "cgroup.subtree_control"]
    }
}

fn create_if_missing(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Enables the controllers for the subgroups of a group. If a controller cannot be enabled, setting a limit
/// later reports that the controller is missing.
fn enable_subtree_controllers(group: &Path) {
    let read = |name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
    let has = |list: &str, controller: &str| list.split_ascii_whitespace().any(|one| one == controller);
    let available = read("cgroup.controllers");
    if !DELEGATED_CONTROLLERS.iter().any(|controller| has(&available, controller)) {
        return;
    }
    // The file is written only if necessary, because each write blocks all other changes of control groups on
    // the machine.
    let file = "cgroup.subtree_control";
    let before = read(file);
    for controller in DELEGATED_CONTROLLERS.iter().filter(|one| has(&available, one) && !has(&before, one)) {
        drop(write_file(&group.join(file), &format!("+{controller}")));
    }
}

/// Returns the sum over all devices of the value `name`, from lines such as `8:0 rbytes=1 wbytes=2 rios=3
/// wios=4 ...`.
fn sum_over_devices(text: &str, name: &str) -> u64 {
    let words = text.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    words
        .filter(|(key, _)| *key == name)
        .filter_map(|(_, value)| value.parse().ok())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_summed_over_devices() {
        let text = "8:0 rbytes=4096 wbytes=1 rios=2 wios=3\n259:0 rbytes=4 wbytes=0 rios=1 wios=0\n";
        assert_eq!((sum_over_devices(text, "rbytes"), sum_over_devices(text, "wios")), (4100, 3));
    }

    #[test]
    fn the_larger_number_of_kills_is_used() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("memory.events"), "low 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n")
            .unwrap();
        assert_eq!(CgroupV2.oom_kill_count(group.path()), 3);
        assert_eq!(CgroupV2.oom_kill_count(Path::new("/no/such/group")), 0);
    }
}
