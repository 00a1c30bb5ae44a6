//! Mounted control group hierarchies, and the group of this process in each of them.

use std::fs;
use std::path::{Path, PathBuf};

/// Mounted control group hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// True for version 2, false for version 1.
    pub(super) unified: bool,
    /// Controllers of the hierarchy. Empty for the version 2 tree if version 1 hierarchies have all
    /// controllers.
    pub(super) controllers: Vec<String>,
    /// Mount point of the hierarchy.
    pub(super) mount_point: PathBuf,
    /// Directory of the group in which this process is.
    pub(super) own_group: PathBuf,
}

/// Version 1 controllers that are used here. Other controllers, such as cpuset, have their own rules and are
/// not needed for limits.
const USED_CONTROLLERS: [&str; 7] = ["memory", "cpu", "cpuacct", "pids", "devices", "freezer", "blkio"];

/// Returns the hierarchies of this machine that can be used for jobs.
pub(super) fn mounted_hierarchies() -> Vec<Hierarchy> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    parse_mountinfo(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), |mounted| {
        fs::read_to_string(mounted.join("cgroup.controllers")).unwrap_or_default()
    })
}

fn parse_mountinfo(mounts: &str, own: &str, controllers: impl Fn(&Path) -> String) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(root), Some(mounted)) = (before.split(' ').nth(3), before.split(' ').nth(4)) else {
            continue;
        };
        let mounted = PathBuf::from(mounted);
        let mut after = after.split(' ');
        let (kind, options) = (after.next().unwrap_or(""), after.nth(1).unwrap_or(""));
        let (unified, controllers): (bool, Vec<String>) = match kind {
            "cgroup2" => (true, controllers(&mounted).split_ascii_whitespace().map(str::to_owned).collect()),
            "cgroup" => {
                let of_use =
                    options.split(',').filter(|option| USED_CONTROLLERS.contains(option)).map(str::to_owned);
                (false, of_use.collect())
            }
            _ => continue,
        };
        let known = |other: &Hierarchy| other.unified == unified && other.controllers == controllers;
        if (!unified && controllers.is_empty()) || found.iter().any(known) {
            continue;
        }
        let own = own_group(own, unified, &controllers);
        // The mount may show only a part of the hierarchy.
        let inside = Path::new(own).strip_prefix(root).unwrap_or(Path::new(""));
        let own = mounted.join(inside.strip_prefix("/").unwrap_or(inside));
        found.push(Hierarchy { unified, controllers, mount_point: mounted, own_group: own });
    }
    found
}

/// Returns the path of our own group in the hierarchy with these controllers. The text consists of lines like
/// `7:cpu,cpuacct:/path`, or `0::/path` for version 2.
fn own_group<'a>(text: &'a str, unified: bool, controllers: &[String]) -> &'a str {
    let of_line = |line: &'a str| {
        let mut parts = line.splitn(3, ':');
        let (number, names, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_match = match unified {
            true => number == "0" && names.is_empty(),
            false => names.split(',').any(|name| controllers.iter().any(|known| known == name)),
        };
        is_match.then_some(path)
    };
    text.lines().find_map(of_line).unwrap_or("/")
}

/// Returns true if 25.14 would use control groups on this machine: the version 2 tree, or three hierarchies
/// of version 1, are mounted at their standard paths (`hasCgroupV2`, `cgroup_v1_is_writeable`).
pub fn reference_uses_cgroups() -> bool {
    let exists = |path: &str| Path::new("/sys/fs/cgroup").join(path).exists();
    exists("cgroup.procs") || ["memory", "cpu,cpuacct", "freezer"].into_iter().all(exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_both_versions_is_read() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      31 24 0:27 /pod /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n\
                      32 24 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                      33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      34 24 0:30 / /proc rw - proc proc rw\n\
                      35 24 0:29 / /elsewhere rw - cgroup2 cgroup2 rw\n";
        let own = "4:memory:/pod/me\n2:cpu,cpuacct:/\n0::/user.slice/a.scope\n";
        let found = parse_mountinfo(mounts, own, |_| "pids io\n".to_owned());
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.unified, one.controllers.join(","), one.own_group.display().to_string()))
            .collect();
        assert_eq!(
            shown,
            [
                (false, "cpu,cpuacct".to_owned(), "/sys/fs/cgroup/cpu/".to_owned()),
                (false, "memory".to_owned(), "/sys/fs/cgroup/memory/me".to_owned()),
                (true, "pids,io".to_owned(), "/sys/fs/cgroup/unified/user.slice/a.scope".to_owned()),
            ]
        );
        assert!(parse_mountinfo("nonsense\n", "", |_| String::new()).is_empty());
    }
}
