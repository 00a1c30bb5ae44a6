//! Volume group on a file, which a startd with LVM creates if the configuration names no group (LVM_BACKING_FILE).
//!
//! Reference: `VolumeManager::VolumeManager`, `CreateLoopback`, `CleanupAllDevices` of `VolumeManager.cpp`. The
//! behaviour follows the source; it was not compared with a running startd.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use htc_config::{ConfigView, ValueError};

/// Placeholder for the name of the loop device when no device is created.
const PLACEHOLDER_DEVICE: &[u8] = b"/dev/loopN";

/// Volume group on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeGroup {
    /// Value of LVM_BACKING_FILE.
    pub file: PathBuf,
    /// Minimum size of the file in bytes: LVM_BACKING_FILE_SIZE_MB plus 2 percent.
    pub bytes: u64,
    /// Name of the volume group.
    pub name: BString,
    /// Name of the thin pool in the group; `None` if volumes are not thin.
    pub pool: Option<BString>,
}

/// Command line of an LVM or loop device program.
pub type LvmCommand = Vec<BString>;

pub(super) fn lvm_command(words: &[&[u8]]) -> LvmCommand {
    words.iter().map(|word| BString::from(*word)).collect()
}

impl VolumeGroup {
    /// Reads the volume group that the configuration asks for. A startd of 25.14 creates one whenever no group is
    /// named; this program requires that the file is set explicitly, because it needs 10 GB of disk.
    ///
    /// # Errors
    /// Returns an error if a parameter is not a valid number or boolean.
    pub fn read(view: &ConfigView<'_>) -> Result<Option<Self>, ValueError> {
        let Some(file) = view.string("LVM_BACKING_FILE")?.filter(|file| !file.origin.is_default()) else {
            return Ok(None);
        };
        let thin = view.boolean("LVM_USE_THIN_PROVISIONING")?.is_some_and(|setting| setting.value);
        let mib = view.int("LVM_BACKING_FILE_SIZE_MB")?.map_or(10_240, |setting| setting.value);
        let kib = mib.max(0).unsigned_abs().saturating_mul(1024);
        let named = view.string("LVM_AUTO_VG_NAME")?.map(|name| name.value).filter(|name| !name.is_empty());
        let name = named.unwrap_or_else(|| "condor_STARTD".into());
        let pool = thin.then(|| BString::from([name.as_slice(), b"_THINPOOL"].concat()));
        // Computes the same size as `static_cast<off_t>(size_kb * 1.02) * 1024`.
        let bytes = ((kib as f64 * 1.02) as u64).saturating_mul(1024);
        let file = PathBuf::from(OsStr::from_bytes(&file.value));
        Ok((!file.as_os_str().is_empty() && bytes > 0).then_some(VolumeGroup { file, bytes, name, pool }))
    }

    fn device_path(&self) -> &[u8] {
        self.file.as_os_str().as_bytes()
    }

    /// Returns the command that lists the loop devices.
    pub fn list_loops_command() -> LvmCommand {
        lvm_command(&[b"losetup", b"--list", b"--output", b"name,back-file"])
    }

    /// Returns the command that prints the volume group on a device.
    pub fn find_group_command(device: &[u8]) -> LvmCommand {
        lvm_command(&[b"pvs", b"--noheadings", b"-o", b"vg_name", device])
    }

    /// Returns the command that attaches a loop device to the group's file.
    pub fn attach_command(&self) -> LvmCommand {
        lvm_command(&[b"losetup", b"--find", b"--show", self.device_path()])
    }

    /// Returns the commands that create the group on a loop device.
    pub fn create_commands(&self, device: &[u8]) -> Vec<LvmCommand> {
        let mut all = vec![
            lvm_command(&[b"pvcreate", device]),
            lvm_command(&[b"vgcreate", b"--autobackup", b"n", &self.name, device]),
        ];
        if let Some(pool) = &self.pool {
            let create =
                [&b"lvcreate"[..], b"--autobackup", b"n", b"--type", b"thin-pool", b"-l", b"100%FREE"];
            all.push([lvm_command(&create), lvm_command(&[&self.name, b"-n", pool])].concat());
        }
        all
    }

    /// Returns the commands that remove the group from its loop device. A command may fail if the object that it
    /// removes does not exist.
    pub fn remove_group_commands(&self, device: &[u8]) -> Vec<LvmCommand> {
        let pool = self.pool.as_ref().map(|pool| {
            let both = [self.name.as_slice(), b"/", pool].concat();
            lvm_command(&[b"lvremove", b"--autobackup", b"n", &both, b"--yes"])
        });
        let group = lvm_command(&[b"vgremove", &self.name, b"--yes", b"--force"]);
        let physical = lvm_command(&[b"pvremove", device, b"--yes", b"--force"]);
        pool.into_iter().chain([group, physical]).collect()
    }

    /// Returns the command that detaches the loop device.
    pub fn detach_command(device: &[u8]) -> LvmCommand {
        lvm_command(&[b"losetup", b"-d", device])
    }

    /// Returns all commands that prepare the group for a volume, with a placeholder for the loop device.
    pub fn all_create_commands(&self) -> Vec<LvmCommand> {
        [vec![self.attach_command()], self.create_commands(PLACEHOLDER_DEVICE)].concat()
    }

    /// Returns all commands that remove the group, with a placeholder for the loop device.
    pub fn all_remove_commands(&self) -> Vec<LvmCommand> {
        [
            self.remove_group_commands(PLACEHOLDER_DEVICE),
            vec![VolumeGroup::detach_command(PLACEHOLDER_DEVICE)],
        ]
        .concat()
    }
}

/// Parses the output of `losetup --list` into pairs of loop device and file. The first line is a heading.
pub fn parse_loops(listed: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    listed.lines().skip(1).filter_map(|line| {
        let mut words = line.split_str(" ").filter(|word| !word.is_empty());
        Some((words.next()?, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_on_a_file_is_created_and_removed_by_the_volume_managers_commands() {
        let group = VolumeGroup {
            file: "/spool/disk.img".into(),
            bytes: 1024,
            name: "condor_STARTD".into(),
            pool: Some("condor_STARTD_THINPOOL".into()),
        };
        let lines = |all: Vec<LvmCommand>| -> Vec<String> {
            all.iter().map(|words| bstr::join(" ", words).to_str_lossy().into_owned()).collect()
        };
        let made = [
            "losetup --find --show /spool/disk.img",
            "pvcreate /dev/loopN",
            "vgcreate --autobackup n condor_STARTD /dev/loopN",
            "lvcreate --autobackup n --type thin-pool -l 100%FREE condor_STARTD -n condor_STARTD_THINPOOL",
        ];
        assert_eq!(lines(group.all_create_commands()), made);
        let thick = VolumeGroup { pool: None, ..group };
        let gone = [
            "vgremove condor_STARTD --yes --force",
            "pvremove /dev/loopN --yes --force",
            "losetup -d /dev/loopN",
        ];
        assert_eq!(lines(thick.all_remove_commands()), gone);
    }

    #[test]
    fn loop_devices_are_read_below_their_heading() {
        let listed = b"NAME       BACK-FILE\n/dev/loop0 /a/b\n/dev/loop1\n/dev/loop2  /c (deleted)\n";
        let found: Vec<_> = parse_loops(listed).collect();
        assert_eq!(found, [(&b"/dev/loop0"[..], &b"/a/b"[..]), (b"/dev/loop2", b"/c")]);
    }
}
