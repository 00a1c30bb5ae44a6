//! Description of jobs in the VM universe, which this program does not run: the process that a pool's starter would
//! start.
//!
//! Reference: `VMProc::StartJob` of `vm_proc.cpp`, `VMGahpServer::startUp` and `publishVMClassAd` of
//! `vm_gahp_server.cpp`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

use htc_base::job::{Universe, attr};
use htc_base::process::ProcessIdentity;
use htc_base::text::arguments;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Mode in which the VM GAHP serves a single starter (VMGAHP_STANDALONE_MODE).
const STANDALONE_MODE: &str = "3";

/// Description of the host and the account on which the job would run.
pub struct VmContext<'a> {
    /// Value of VM_GAHP_SERVER.
    pub server: Option<BString>,
    /// The scratch directory.
    pub scratch: &'a Path,
    /// Account of the job, or `None` for the account of this program.
    pub account: Option<&'a ProcessIdentity>,
    /// World in which expressions are evaluated.
    pub world: &'a dyn World,
}

/// Describes the process that would be started, as lines. Returns `None` for a job of another universe.
pub fn describe_vm_start(ad: &ClassAd, place: &VmContext<'_>) -> Option<Vec<String>> {
    let context = || Context::new(place.world).my(ad);
    if context().int(attr::JOB_UNIVERSE) != Some(Universe::Vm.number()) {
        return None;
    }
    let mut lines = Vec::new();
    let Some(kind) = context().string("JobVMType").map(|kind| kind.to_ascii_lowercase()) else {
        return Some(vec!["virtual machine: JobVMType cannot be found in job classAd.".to_owned()]);
    };
    let kind = BString::from(kind);
    lines.push(format!("virtual machine of type {kind}"));
    for (name, what) in [
        ("JobVMMemory", "memory in MB"),
        ("JobVM_VCPUS", "processors"),
        ("JobVMNetworking", "networking"),
        ("JobVMNetworkingType", "kind of network"),
        ("JobVM_MACADDR", "hardware address"),
        ("JobVMCheckpoint", "checkpoints"),
        ("JobVMVNCConsole", "console"),
        ("VMPARAM_vm_Disk", "disks"),
        ("VMPARAM_No_Output_VM", "no output"),
        ("VMPARAM_Xen_Kernel", "kernel"),
        ("VMPARAM_VMware_Dir", "directory"),
    ] {
        if let Some(value) = ad.get(name) {
            lines.push(format!("    {what}: {} ({name})", value.unparse().as_bstr()));
        }
    }
    match &place.server {
        Some(server) => {
            let there = match place.world.may_execute(&server.to_path_lossy()) {
                true => "",
                false => ", which is missing: the job would not start",
            };
            let words = [server.as_slice(), b"-f", b"-M", STANDALONE_MODE.as_bytes()];
            lines.push(format!("run {}{there}", arguments::join_v2_raw(words)));
        }
        None => lines.push("VM_GAHP_SERVER is not set: the job would not start".to_owned()),
    }
    if let Some(account) = place.account {
        lines.push(format!("    env VMGAHP_USER_GID={}", account.gid));
        lines.push(format!("    env VMGAHP_USER_UID={}", account.uid));
    }
    lines.push(format!("    env VMGAHP_VMTYPE={kind}"));
    let scratch = place.scratch.as_os_str().as_bytes().as_bstr();
    lines.push(format!("    env VMGAHP_WORKING_DIR={scratch}"));
    lines.push(format!("    send CONDOR_VM_START 1 {kind} {scratch}"));
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::format::long;
    use htc_os::RealWorld;

    fn lines(text: &str, server: Option<&str>) -> Option<Vec<String>> {
        let world = RealWorld::new();
        let place = VmContext {
            server: server.map(BString::from),
            scratch: Path::new("/execute/dir_7/scratch"),
            account: None,
            world: &world,
        };
        describe_vm_start(&long::parse(text.as_bytes()).0, &place)
    }

    #[test]
    fn a_virtual_machine_is_described_with_its_gahp_command() {
        let ad =
            "JobUniverse = 13\nJobVMType = \"KVM\"\nJobVMMemory = 512\nVMPARAM_vm_Disk = \"a.img:vda:w\"\n";
        let description = lines(ad, Some("/bin/sh")).unwrap();
        assert_eq!(description[0], "virtual machine of type kvm");
        assert!(description.contains(&"    memory in MB: 512 (JobVMMemory)".to_owned()), "{description:?}");
        assert!(description.contains(&"run /bin/sh -f -M 3".to_owned()), "{description:?}");
        assert_eq!(description.last().unwrap(), "    send CONDOR_VM_START 1 kvm /execute/dir_7/scratch");
        let missing = lines(ad, Some("/no/such")).unwrap();
        assert!(missing.iter().any(|line| line.ends_with("the job would not start")), "{missing:?}");
    }

    #[test]
    fn other_jobs_have_no_description_and_a_missing_type_is_reported() {
        assert_eq!(lines("JobUniverse = 5\nJobVMType = \"kvm\"\n", None), None);
        let description = lines("JobUniverse = 13\n", None).unwrap();
        assert_eq!(description, ["virtual machine: JobVMType cannot be found in job classAd."]);
    }
}
