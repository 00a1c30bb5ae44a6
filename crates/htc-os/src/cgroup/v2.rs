//! Version 2: one tree, whose controllers are handed down from group to group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::usage::Counts;
use super::version::{Limited, Version, field, number, write, write_number};

/// Version 2.
pub(super) struct V2;

/// What groups below a group may have of their own (`makeCgroup`); each by itself, as some may be refused.
const HANDED_DOWN: [&str; 4] = ["memory", "pids", "cpu", "io"];

impl Version for V2 {
    /// A group with processes in it cannot hand controllers down, so that a job that makes groups needs one around its own:
    /// `NAME.slice/NAME.scope`.
    fn make(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<PathBuf>> {
        let mut above = parent.to_owned();
        hand_down(&above);
        for part in Path::new(base).components() {
            above.push(part);
            make_if_missing(&above)?;
            hand_down(&above);
        }
        let slice = above.join(self.outermost(name));
        let scope = slice.join(format!("{name}.scope"));
        fs::create_dir(&slice)?;
        hand_down(&slice);
        if let Err(error) = fs::create_dir(&scope) {
            drop(fs::remove_dir(&slice));
            return Err(error);
        }
        // Where it is missing the kernel kills one process instead of all.
        drop(write(&slice.join("memory.oom.group"), "1"));
        Ok(vec![slice, scope])
    }

    fn outermost(&self, name: &str) -> String {
        format!("{name}.slice")
    }

    fn limit(&self, group: &Path, what: Limited, value: u64) -> io::Result<Option<u64>> {
        match what {
            Limited::Memory => write_number(&group.join("memory.max"), value),
            Limited::MemoryLow => write_number(&group.join("memory.low"), value),
            // Swap alone here, both together in what is asked for.
            Limited::Swap { memory } => {
                let swap = write_number(&group.join("memory.swap.max"), value.saturating_sub(memory))?;
                Ok(swap.map(|swap| swap.saturating_add(memory)))
            }
            Limited::Cpu => write_number(&group.join("cpu.weight"), value.clamp(1, 10_000)),
            Limited::Processes => write_number(&group.join("pids.max"), value),
        }
    }

    fn hide(&self, _: &Path, _: (u32, u32)) -> io::Result<bool> {
        Ok(false)
    }

    fn freeze(&self, group: &Path, freeze: bool) -> bool {
        write(&group.join("cgroup.freeze"), if freeze { "1" } else { "0" }).is_ok()
    }

    fn kill(&self, group: &Path) -> bool {
        write(&group.join("cgroup.kill"), "1").is_ok()
    }

    fn count(&self, group: &Path, _: &[String], counts: &mut Counts) {
        let read = |name: &str| fs::read_to_string(group.join(name)).ok();
        if let Some(text) = read("cpu.stat") {
            counts.user = field(&text, "user_usec").map(Duration::from_micros);
            counts.system = field(&text, "system_usec").map(Duration::from_micros);
        }
        if let Some(text) = read("memory.stat") {
            let of = |name: &str| field(&text, name).unwrap_or(0);
            counts.memory = Some(of("anon").saturating_add(of("shmem")));
            counts.cache = of("file").saturating_add(of("inactive_anon"));
            counts.peak = number(&group.join("memory.peak"));
        }
        if let Some(text) = read("io.stat") {
            let of = |name: &str| Some(sum(&text, name));
            (counts.read_bytes, counts.written_bytes) = (of("rbytes"), of("wbytes"));
            (counts.reads, counts.writes) = (of("rios"), of("wios"));
        }
        if let Some(text) = read("pids.events") {
            counts.forks_refused = field(&text, "max").unwrap_or(0);
        }
    }

    fn memory_kills(&self, group: &Path) -> u64 {
        let text = fs::read_to_string(group.join("memory.events")).unwrap_or_default();
        ["oom_kill", "oom_group_kill"].iter().filter_map(|name| field(&text, name)).max().unwrap_or(0)
    }

    fn kills_all(&self) -> bool {
        true
    }

    fn delegated(&self) -> &'static [&'static str] {
        &["cgroup.procs", "cgroup.subtree_control"]
    }
}

fn make_if_missing(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Lets groups below have controllers. What cannot be handed down is missing there, which is found when a limit is set.
fn hand_down(group: &Path) {
    let read = |name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
    let has = |list: &str, controller: &str| list.split_ascii_whitespace().any(|one| one == controller);
    let there = read("cgroup.controllers");
    if !HANDED_DOWN.iter().any(|controller| has(&there, controller)) {
        return;
    }
    // Each write holds up everybody who changes groups.
    let file = "cgroup.subtree_control";
    let before = read(file);
    for controller in HANDED_DOWN.iter().filter(|one| has(&there, one) && !has(&before, one)) {
        drop(write(&group.join(file), &format!("+{controller}")));
    }
}

/// The sum over all devices: lines `8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...`.
fn sum(text: &str, name: &str) -> u64 {
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
        assert_eq!((sum(text, "rbytes"), sum(text, "wios")), (4100, 3));
    }

    #[test]
    fn the_larger_count_of_kills_counts() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("memory.events"), "low 0\nmax 7\noom 1\noom_kill 3\noom_group_kill 1\n")
            .unwrap();
        assert_eq!(V2.memory_kills(group.path()), 3);
        assert_eq!(V2.memory_kills(Path::new("/no/such/group")), 0);
    }
}
