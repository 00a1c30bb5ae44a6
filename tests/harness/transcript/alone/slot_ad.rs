//! The ad of the slot in which a job of a pool ran: recorded by the job, or built from the attributes in the
//! queue.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Prefix of the queue's attributes about resources given to the job.
const GIVEN: &str = "Provisioned";

/// Attributes of a slot about the runtimes that its configuration names, as the fake runtimes report them.
const RUNTIMES: [(&str, &str); 2] = [
    ("DOCKER = $(LOCAL_DIR)", "HasDocker = true\nDockerVersion = \"Docker version 26.1.4, build 5650f9b\"\n"),
    ("SINGULARITY = $(LOCAL_DIR)", "HasSingularity = true\nHasPidNamespaces = true\n"),
];

/// Returns the slot ad for the job in this directory; `end` is its final ad in the queue.
pub fn of(place: &Path, end: &BTreeMap<String, String>, config: &str) -> Option<Vec<u8>> {
    let recorded = std::fs::read_dir(place.join("rec")).into_iter().flatten().flatten();
    let machine =
        recorded.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with(".machine.ad"));
    match machine {
        Some(path) => std::fs::read(path).ok(),
        None => made(end, config).map(String::into_bytes),
    }
}

/// Returns the name of the slot, without its host: `slot1_2`.
pub fn name(end: &BTreeMap<String, String>) -> Option<&str> {
    let host = end.get("LastRemoteHost").or_else(|| end.get("RemoteHost"))?;
    host.trim_matches('"').split('@').next()
}

fn made(end: &BTreeMap<String, String>, config: &str) -> Option<String> {
    let given: Vec<(&str, &str)> =
        end.iter().filter_map(|(name, value)| Some((name.strip_suffix(GIVEN)?, value.as_str()))).collect();
    if given.is_empty() {
        return None;
    }
    let mut resources = vec!["Cpus", "Memory", "Disk", "Swap"];
    resources.extend(
        given.iter().map(|(name, _)| *name).filter(|name| !["Cpus", "Memory", "Disk"].contains(name)),
    );
    let mut ad =
        format!("Machine = \"@HOST@\"\nMachineResources = \"{}\"\nSlotID = 1\n", resources.join(" "));
    if let Some(name) = name(end) {
        let _ = writeln!(ad, "Name = \"{name}@@HOST@\"");
    }
    for (resource, amount) in &given {
        let _ = writeln!(ad, "{resource} = {amount}\nTotalSlot{resource} = {amount}");
        // There is no list of a resource whose items have no names.
        if !config.contains(&format!("MACHINE_RESOURCE_{resource}")) {
            continue;
        }
        let assigned = end.get(&format!("Assigned{resource}"));
        let ids = assigned.map_or("", |ids| ids.trim_matches('"'));
        let ids: Vec<String> = ids
            .split(',')
            .filter(|id| !id.is_empty())
            .map(|id| format!("{resource}_{}", id.replace('-', "_")))
            .collect();
        let _ = writeln!(ad, "Available{resource} = {{ {} }}", ids.join(","));
        if let Some(assigned) = assigned {
            let _ = writeln!(ad, "Assigned{resource} = {assigned}");
        }
    }
    ad.extend(RUNTIMES.iter().filter(|(parameter, _)| config.contains(parameter)).map(|(_, says)| *says));
    Some(ad)
}
